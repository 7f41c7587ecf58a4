"""Measures what must be fast: python -m tests.bench (make bench)."""
