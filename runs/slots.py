"""Schedules whose time has come: each slot starts one run, whatever the number of machines that look."""
