"""Hears live HTTP traffic and writes captures; never changes a byte of it."""
