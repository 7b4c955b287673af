from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.audit.disguises import disguises, found_forms

SECRET = b"quill-7 & vex\xe9"


@pytest.mark.parametrize(
    "hidden",
    [
        SECRET,
        SECRET.lower(),
        SECRET.upper(),
        SECRET.hex().encode(),
        SECRET.hex().upper().encode(),
        quote(SECRET, safe="").encode(),
        json.dumps(SECRET.decode("latin-1")).encode(),
        SECRET.decode("latin-1").encode("utf-16"),
        SECRET.decode("latin-1").encode("utf-16-be"),
        SECRET[::-1],
    ],
)
def test_every_disguise_is_seen(hidden: bytes) -> None:
    assert found_forms(b"before " + hidden + b" after", [b"another", SECRET])[0][0] == 1


@given(st.binary(min_size=12, max_size=40), st.binary(max_size=9), st.binary(max_size=9))
def test_base64_is_seen_wherever_the_secret_stands_in_what_was_encoded(
    secret: bytes, before: bytes, after: bytes
) -> None:
    for encoded in (base64.b64encode(before + secret + after), base64.urlsafe_b64encode(before + secret + after)):
        assert any("base64" in form for _, form in found_forms(encoded, [secret]))


def test_what_is_not_there_is_not_found() -> None:
    assert found_forms(b"nothing of the kind in here, 1234567890", [SECRET]) == []
    assert all(len(pattern) >= len(SECRET) for pattern in disguises(SECRET).values())
