"""Runs: the engine's rows, its one writer, and the doors to runs."""
