"""Forgets: captures in, a corpus of integers out; never writes text."""
