from __future__ import annotations

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from corpus.capture.repeats import MOST_BYTES
from corpus.capture.segment import (
    FRAME_BYTES,
    FRAME_END,
    FRAME_RECORDS,
    VERSION,
    FrameEncoder,
    Marker,
    Record,
    decode_marker,
    encode_marker,
    find_marker,
    record_head,
)

MARKER = Marker(b"12345678", "session", "w0", 1)
markers = st.builds(
    Marker,
    st.binary(min_size=8, max_size=8),
    st.none() | st.text(alphabet=st.characters(exclude_categories=[])),
    st.text(),
    st.integers(0, 2**63 - 1),
)


@given(st.binary(), markers, st.binary())
def test_a_marker_reads_back_wherever_it_stands(before: bytes, marker: Marker, after: bytes) -> None:
    encoded = encode_marker(marker)
    assert decode_marker(before + encoded + after, len(before)) == (marker, len(before) + len(encoded))


@given(markers, st.data())
def test_a_damaged_or_cut_marker_is_none(marker: Marker, data: st.DataObject) -> None:
    encoded = bytearray(encode_marker(marker))
    assert decode_marker(bytes(encoded[: data.draw(st.integers(0, len(encoded) - 1))]), 0) is None
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    assert decode_marker(bytes(encoded), 0) is None


def test_markers_of_another_file_are_passed_over() -> None:
    foreign, own = encode_marker(Marker(b"foreign!", None, "w0", 1)), encode_marker(MARKER)
    data = b"rubbish" + foreign + b"more" + own
    assert find_marker(data, 0, None) == 7
    assert find_marker(data, 0, MARKER.nonce) == 7 + len(foreign) + 4
    assert find_marker(data, 0, b"absent!!") == len(data)


def test_a_frame_is_an_ordinary_zstd_stream_of_its_records() -> None:
    records = [Record("request", b"{}", b"body"), Record("response", b'{"a":1}', b"")]
    encoder = FrameEncoder(MARKER)
    data = b"".join(encoder.encode(record) for record in records) + FRAME_END
    skipped = len(encode_marker(MARKER))
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(data[skipped:])
    assert plain == b"".join(record_head(one, VERSION, len(one.body)) + one.meta + one.body for one in records)


def test_each_piece_can_be_decoded_without_the_following_ones() -> None:
    encoder = FrameEncoder(MARKER)
    stream = zstandard.ZstdDecompressor().decompressobj()
    skipped = len(encode_marker(MARKER))
    for number in range(5):
        piece = encoder.encode(Record("request", b"{}", b"same text %d" % number))
        assert stream.decompress(piece[skipped:]).endswith(b"same text %d" % number)
        skipped = 0


def test_a_frame_is_full_after_64_records_or_64_mib() -> None:
    encoder = FrameEncoder(MARKER)
    for _ in range(FRAME_RECORDS):
        assert not encoder.full
        encoder.encode(Record("request", b"", b""))
    assert encoder.full
    encoder = FrameEncoder(MARKER)
    encoder.encode(Record("request", b"", bytes(FRAME_BYTES)))
    assert encoder.full


def test_what_repeats_does_not_fill_a_frame() -> None:
    encoder = FrameEncoder(MARKER)
    for _ in range(FRAME_BYTES // MOST_BYTES + 1):
        encoder.encode(Record("request", b"", bytes(MOST_BYTES)))
    assert not encoder.full


def test_history_is_stored_once() -> None:
    history = bytes(range(256)) * 400
    encoder = FrameEncoder(MARKER)
    encoder.encode(Record("request", b"{}", history))
    assert len(encoder.encode(Record("request", b"{}", history + b"one more turn"))) < 200
