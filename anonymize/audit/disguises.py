"""The forms in which a secret may hide in bytes: what a search for a leak has to look for.

Raw, lower and upper case, hexadecimal, base64 at its three alignments (plain and URL-safe), URL- and JSON-escaped,
UTF-16 in both orders, and reversed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from urllib.parse import quote


def disguises(secret: bytes) -> dict[str, bytes]:
    """Name of a form -> the bytes to look for; short secrets give forms that occur by chance."""
    text = secret.decode("latin-1")
    forms = {
        "raw": secret,
        "lower case": secret.lower(),
        "upper case": secret.upper(),
        "hexadecimal": secret.hex().encode(),
        "upper-case hexadecimal": secret.hex().upper().encode(),
        "url": quote(secret, safe="").encode(),
        "json": json.dumps(text)[1:-1].encode(),
        "utf-16 little endian": text.encode("utf-16-le"),
        "utf-16 big endian": text.encode("utf-16-be"),
        "reversed": secret[::-1],
    }
    for shift in range(3):
        plain = _base64_core(secret, shift)
        forms[f"base64 at {shift}"] = plain
        forms[f"url-safe base64 at {shift}"] = plain.translate(bytes.maketrans(b"+/", b"-_"))
    return forms


def found_forms(data: bytes, secrets: Iterable[bytes]) -> list[tuple[int, str]]:
    """(number of the secret, name of the form) for everything of them that stands in `data`."""
    return [
        (number, form)
        for number, secret in enumerate(secrets)
        for form, pattern in disguises(secret).items()
        if pattern in data
    ]


def _base64_core(secret: bytes, shift: int) -> bytes:
    """The characters of base64 that depend on the secret alone when `shift` bytes stand before it."""
    encoded = base64.b64encode(bytes(shift) + secret)
    return encoded[-(-shift * 8 // 6) : (shift + len(secret)) * 8 // 6]
