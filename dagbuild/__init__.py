"""Connects: corpus sessions in, spawn / join / auxiliary edges with evidence out."""
