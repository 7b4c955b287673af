from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire.pictures
from wire.pictures import image_pixels, pdf_pages

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
EXIF = b"\xff\xe1" + struct.pack(">H", 100) + b"\xff\xc0" * 49  # a preview's frame header inside is skipped
JPEG = b"\xff\xd8" + EXIF + b"\xff\xff\xc2" + struct.pack(">HBHH", 17, 8, 480, 640) + b"\x03"
VP8X = b"RIFF....WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
VP8L = b"RIFF....WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 639 | 479 << 14)
VP8 = b"RIFF....WEBPVP8 " + bytes(10) + struct.pack("<HH", 640 | 1 << 14, 480)


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, VP8X, VP8L, VP8])
@pytest.mark.parametrize("more", [b"", b"\0" * 100])
def test_the_head_of_an_image_tells_its_size(data: bytes, more: bytes) -> None:
    assert image_pixels(b64encode(data + more).decode()) == (640, 480)


@pytest.mark.parametrize("data", [b"", b"BM", PNG[:18], JPEG[:20], b"RIFF....WEBPVP8Z", b"\xff\xd8\xff\xd9"])
def test_an_image_that_does_not_tell_is_unknown(data: bytes) -> None:
    assert image_pixels(b64encode(data).decode()) is None


@given(st.one_of(st.text(max_size=80), st.binary(max_size=80).map(lambda data: b64encode(PNG[:9] + data).decode())))
def test_no_payload_is_too_broken(payload: str) -> None:
    found = image_pixels(payload)
    assert found is None or min(found) > 0
    assert pdf_pages(payload) is None


def pdf(*objects: bytes) -> str:
    return b64encode(b"%PDF-1.7\n" + b"\n".join(objects)).decode()


def test_pages_of_a_pdf_are_counted_by_its_tree_or_one_by_one() -> None:
    page = b"<< /Type /Page /Parent 1 0 R >>"
    assert pdf_pages(pdf(b"<< /Type /Pages /Kids [2 0 R] /Count 12 >>", page)) == 12
    assert pdf_pages(pdf(b"<</Count 7/Kids[2 0 R]/Type/Pages>>")) == 7
    assert pdf_pages(pdf(page, page, b"<< /Type /PageLabel >>")) == 2
    assert pdf_pages(pdf(b"nothing in the open")) is None


def packed_pdf(*objects: bytes, content: bytes | None = None) -> str:
    stream = zlib.compress(b" ".join(objects)) if content is None else content
    head = b"<< /Type /ObjStm /N %d /First 12 /Filter /FlateDecode /Length %d >>" % (len(objects), len(stream))
    other = b"9 0 obj << /Length 4 >> stream\nabcd\nendstream endobj\n"
    data = b"%PDF-1.7\n" + other + b"4 0 obj\n" + head + b"\nstream\r\n" + stream + b"\nendstream endobj\n"
    return b64encode(data).decode()


def test_pages_of_packed_objects_are_counted() -> None:
    tree = b"<< /Type /Pages /Count 7 /Kids [5 0 R] >>"
    assert pdf_pages(packed_pdf(tree, b"<< /Type /Page /Parent 1 0 R >>")) == 7
    assert pdf_pages(packed_pdf(b"<< /Type /Page >>", b"<</Type/Page>>")) == 2
    assert pdf_pages(packed_pdf(b"<< /Type /Font >>")) is None
    assert pdf_pages(packed_pdf(tree, content=b"no zlib at all")) is None


def test_a_bomb_of_packed_objects_is_not_unpacked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire.pictures, "_UNPACKED_BYTES", 1_000)
    tree = b"<< /Type /Pages /Count 7 >>"
    assert pdf_pages(packed_pdf(tree, b" " * 10**6)) == 7
    assert pdf_pages(packed_pdf(b" " * 10**6, tree)) is None
