"""Payloads that are no text here: identified by digest and size.

Only these are hashed. Base64 is hashed as sent, without decoding it: clients repeat it byte for byte.
"""

from __future__ import annotations

from hashlib import blake2b

from wire.jsonbody import string, write_json
from wire.shapes import Part, PartKind


def digest(payload: str) -> str:
    """Hex BLAKE2b-128; equal for equal payloads in any request or provider, unsalted, hence private."""
    return blake2b(payload.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def sealed(payload: str, message: int, role: str, *, name: str, call_id: str | None = None) -> Part:
    """Text the provider encrypted (reasoning, compacted history, agent messages)."""
    return Part(
        "opaque", "", message, role, call_id=call_id, name=name, opaque_bytes=len(payload), digest=digest(payload)
    )


def binary(kind: PartKind, base64: str, message: int, role: str, *, call_id: str | None = None) -> Part:
    size = max(len(base64) * 3 // 4 - base64[-2:].count("="), 0)
    return Part(kind, "", message, role, call_id=call_id, opaque_bytes=size, digest=digest(base64), payload=base64)


def referenced(kind: PartKind, reference: object, message: int, role: str, *, call_id: str | None = None) -> Part:
    """Something the provider fetches itself, by address or file id: identity known, size not."""
    text = string(reference)
    return Part(
        kind, "", message, role, call_id=call_id, digest=digest(write_json(reference) if text is None else text)
    )


def from_url(kind: PartKind, url: str, message: int, role: str, *, call_id: str | None = None) -> Part:
    """A data URL holds the payload itself; any other address refers to it."""
    if url.startswith("data:"):
        return binary(kind, url.partition(",")[2], message, role, call_id=call_id)
    return referenced(kind, url, message, role, call_id=call_id)
