"""Approvals: who may answer a gate, and the record of every answer."""
