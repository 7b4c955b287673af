from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]  # ships no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from wire.encoding import decode_body
from wire.errors import WireError

MIB = 1024 * 1024
BODY = b'{"model":"m","messages":[' + b",".join(b'{"role":"user","content":"%d"}' % n for n in range(200)) + b"]}"


def bare_deflate(data: bytes) -> bytes:
    squeezer = zlib.compressobj(wbits=-15)
    return squeezer.compress(data) + squeezer.flush()


def brotli_compress(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=4))


CODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "bare deflate": ("deflate", bare_deflate),
    "br": ("br", brotli_compress),
    "zstd": ("zstd", zstandard.ZstdCompressor().compress),
}
every_coder = pytest.mark.parametrize("coder", CODERS)


@every_coder
@given(body=st.binary(max_size=5000))
def test_every_coding_is_undone(coder: str, body: bytes) -> None:
    name, encode = CODERS[coder]
    assert decode_body(encode(body), name) == body


@every_coder
def test_body_cut_anywhere_gives_what_can_be_decoded(coder: str) -> None:
    name, encode = CODERS[coder]
    encoded = encode(BODY)
    for end in range(len(encoded)):
        assert BODY.startswith(decode_body(encoded[:end], name))


@every_coder
def test_most_of_a_body_that_lost_its_tail_is_decoded(coder: str) -> None:
    name, encode = CODERS[coder]
    body = b"".join(b"%d," % (n * 7919 % 100_003) for n in range(100_000))
    encoded = encode(body)
    assert len(decode_body(encoded[: len(encoded) * 9 // 10], name)) > len(body) // 2


def test_cut_inside_a_long_copy_keeps_what_the_decoder_still_held() -> None:
    encoded = zlib.compress(bytes(2 * MIB))
    for end in range(len(encoded) // 2 - 20, len(encoded) // 2 + 20):  # output passes the size of one piece here
        assert decode_body(encoded[:end], "deflate") == zlib.decompressobj().decompress(encoded[:end])


@every_coder
@pytest.mark.parametrize(
    "garbage", [b"<html>502 Bad Gateway</html>", b"\xff" * 40, b'{"type":"error"}'], ids=["html", "ones", "json"]
)
def test_garbage_is_an_error(coder: str, garbage: bytes) -> None:
    with pytest.raises(WireError):
        decode_body(garbage, CODERS[coder][0])


@every_coder
def test_bytes_after_the_end_are_an_error(coder: str) -> None:
    name, encode = CODERS[coder]
    with pytest.raises(WireError):
        decode_body(encode(BODY) + b"<html>garbage</html>", name)


@every_coder
def test_decompression_bomb_is_refused_and_the_limit_itself_is_allowed(coder: str) -> None:
    name, encode = CODERS[coder]
    bomb = encode(bytes(20 * MIB))
    assert len(bomb) < MIB
    with pytest.raises(WireError, match="larger"):
        decode_body(bomb, name, limit=MIB)
    with pytest.raises(WireError, match="larger"):
        decode_body(bomb, name, limit=20 * MIB - 1)
    assert decode_body(bomb, name, limit=20 * MIB) == bytes(20 * MIB)


def test_limit_holds_between_stacked_codings() -> None:
    with pytest.raises(WireError, match="larger"):
        decode_body(gzip.compress(gzip.compress(bytes(20 * MIB))), "gzip, gzip", limit=MIB)


def test_codings_are_undone_last_applied_first() -> None:
    twice = zstandard.ZstdCompressor().compress(gzip.compress(BODY))
    assert decode_body(twice, "GZIP , identity, zstd") == BODY


def test_gzip_body_of_several_members_with_padding_is_one_body() -> None:
    assert decode_body(gzip.compress(b"one ") + gzip.compress(b"two") + bytes(8), "gzip") == b"one two"


def test_zstd_body_of_several_frames_is_one_body() -> None:
    encode = zstandard.ZstdCompressor().compress
    assert decode_body(encode(b"one ") + encode(b"two"), "zstd") == b"one two"


@pytest.mark.parametrize("coder", ["gzip", "zstd"])
@pytest.mark.parametrize("header", [None, "", " "])
def test_missing_header_is_made_up_for_by_magic_bytes(coder: str, header: str | None) -> None:
    assert decode_body(CODERS[coder][1](BODY), header) == BODY


@pytest.mark.parametrize("header", [None, "identity", ""])
def test_plain_body_stays_as_it_is(header: str | None) -> None:
    assert decode_body(BODY, header) is BODY
    assert decode_body(b"", header) == b""


def test_declared_identity_is_believed() -> None:
    encoded = gzip.compress(BODY)
    assert decode_body(encoded, "identity") == encoded


def test_plain_body_over_the_limit_is_refused() -> None:
    with pytest.raises(WireError, match="larger"):
        decode_body(BODY, None, limit=10)


def test_unknown_coding_is_named() -> None:
    with pytest.raises(WireError, match="rot13"):
        decode_body(BODY, "gzip, rot13")


@every_coder
def test_empty_body_of_any_coding_is_empty(coder: str) -> None:
    assert decode_body(b"", CODERS[coder][0]) == b""
