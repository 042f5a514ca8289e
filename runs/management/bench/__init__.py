"""Benchmarks over the production path."""
