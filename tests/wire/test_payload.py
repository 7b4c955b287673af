from __future__ import annotations

from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st

from wire.payload import binary, digest, from_url, referenced, sealed


@given(st.binary(max_size=200))
def test_binary_size_is_that_of_the_decoded_bytes(data: bytes) -> None:
    part = binary("image", b64encode(data).decode(), 3, "user", call_id="c")
    assert (part.kind, part.text, part.message, part.role, part.call_id) == ("image", "", 3, "user", "c")
    assert part.opaque_bytes == len(data)


def test_data_url_is_the_same_payload_as_bare_base64() -> None:
    assert from_url("image", "data:image/png;base64,aGVsbG8=", 0, "user") == binary("image", "aGVsbG8=", 0, "user")


def test_address_is_a_reference_of_unknown_size() -> None:
    part = from_url("document", "https://example.com/a.pdf", 0, "user")
    assert (part.opaque_bytes, part.digest) == (0, digest("https://example.com/a.pdf"))
    assert referenced("document", {"file_id": "f1"}, 0, "user") == referenced("document", {"file_id": "f1"}, 0, "user")
    assert referenced("document", {"file_id": "f1"}, 0, "user") != referenced("document", {"file_id": "f2"}, 0, "user")


def test_digest_is_128_bits_in_hex_and_survives_lone_surrogates() -> None:
    assert len(digest("")) == 32
    assert digest("\ud83d") != digest("\ud83e")


def test_sealed_text_shows_only_size_digest_and_what_it_came_as() -> None:
    part = sealed("gAAAA", 1, "reasoning", name="reasoning")
    assert (part.kind, part.text, part.name, part.opaque_bytes, part.digest) == (
        "opaque",
        "",
        "reasoning",
        5,
        digest("gAAAA"),
    )
