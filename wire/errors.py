"""The one error of this room: bytes that cannot be what they claim to be."""

from __future__ import annotations


class WireError(ValueError):
    """A body that cannot be decoded or read; its message never quotes the body, which is private."""
