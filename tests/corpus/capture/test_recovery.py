from __future__ import annotations

import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.capture.recovery import Flaw, Frame, first_records, read_frames
from corpus.capture.segment import FRAME_END, FrameEncoder, Marker, Record, encode_marker, find_marker

NONCE = b"12345678"
FRAMES = 4
PER_FRAME = 5
NOISE = random.Random(0).randbytes(50_000)


def record(number: int) -> Record:
    noise = random.Random(number).randbytes(200)  # incompressible, so damage hits content, not only structure
    return Record("request" if number % 2 else "response", b'{"n":%d}' % number, b"history " * number + noise)


def frame(first: int, count: int) -> list[bytes]:
    encoder = FrameEncoder(Marker(NONCE, "s", "w0", first))
    return [encoder.encode(record(number)) for number in range(first, first + count)]


def segment() -> tuple[bytes, list[tuple[int, int, int]]]:
    """Content of a file, and (frame, start, end) of each record in it."""
    data = b""
    spans = []
    for number in range(FRAMES):
        for piece in frame(number * PER_FRAME, PER_FRAME):
            spans.append((number, len(data), len(data) + len(piece)))
            data += piece
        data += FRAME_END
    return data, spans


DATA, SPANS = segment()
BOUNDARIES = {0, len(DATA)} | {offset for _, start, end in SPANS for offset in (start, end)}


def read(data: bytes) -> tuple[list[Record], list[Flaw]]:
    records: list[Record] = []
    flaws: list[Flaw] = []
    for found in read_frames(data):
        if isinstance(found, Frame):
            records += found.records
            flaws += [found.flaw] if found.flaw else []
        else:
            flaws.append(found)
    return records, flaws


def test_a_sound_file_comes_back_whole() -> None:
    assert read(DATA) == ([record(number) for number in range(FRAMES * PER_FRAME)], [])
    assert read(b"") == ([], [])


@given(st.integers(0, len(DATA)))
def test_a_cut_loses_only_the_record_it_hits(cut: int) -> None:
    records, flaws = read(DATA[:cut])
    whole = [number for number, (_, _, end) in enumerate(SPANS) if end <= cut]
    assert records == [record(number) for number in whole]
    assert len(flaws) == (0 if cut in BOUNDARIES else 1)


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_a_changed_byte_loses_only_what_follows_in_its_frame(position: int, change: int) -> None:
    data = bytearray(DATA)
    data[position] ^= change
    records, flaws = read(bytes(data))
    assert set(records) <= {record(number) for number in range(len(SPANS))}, "a record that never was"
    hit = max(frame for frame, start, _ in SPANS if start <= position)
    for number, (of_frame, _, end) in enumerate(SPANS):
        if of_frame != hit or end <= position:
            assert record(number) in records
    if len(records) < len(SPANS):
        assert flaws


@given(st.integers(0, len(DATA)), st.integers(0, 3000), st.binary(max_size=50))
def test_a_replaced_stretch_never_invents_or_reorders(position: int, length: int, instead: bytes) -> None:
    records, _ = read(DATA[:position] + instead + DATA[position + length :])
    numbers = [record(number) for number in range(len(SPANS))]
    assert [found for found in numbers if found in records] == records


@given(st.binary(max_size=400))
def test_anything_else_yields_no_record(data: bytes) -> None:
    records, flaws = read(data)
    assert not records
    assert bool(flaws) == bool(data)


def test_a_frame_that_was_not_ended_is_whole() -> None:
    data = b"".join(frame(0, 3))
    assert read(data) == ([record(0), record(1), record(2)], [])


def test_zeros_behind_the_last_record_are_a_flaw() -> None:
    data = b"".join(frame(0, 3))
    records, flaws = read(data + bytes(4096))
    assert len(records) == 3
    assert [flaw.offset for flaw in flaws] == [len(data)]


def test_flaws_say_where_they_begin() -> None:
    data = bytearray(DATA)
    start, end = SPANS[7][1:]
    data[start + 20 : end - 20] = os.urandom(end - start - 40)
    (flaw,) = read(bytes(data))[1]
    assert start <= flaw.offset < end


@pytest.mark.parametrize("own_frames_follow", [False, True])
def test_a_frame_inside_a_body_is_not_taken_for_the_files_own(own_frames_follow: bool) -> None:
    inner = encode_marker(Marker(b"another!", "x", "w0", 1)) + b"".join(frame(0, 1))
    smuggled = inner.replace(encode_marker(Marker(NONCE, "s", "w0", 0)), b"")
    encoder = FrameEncoder(Marker(NONCE, "s", "w0", 0))
    first = encoder.encode(record(1))
    second = bytearray(encoder.encode(Record("request", b"{}", NOISE + smuggled + NOISE[::-1])))
    assert find_marker(bytes(second), 0, b"another!") < len(second), "stored as it is"
    second[:3] = b"\xff\xff\xff"
    rest = b"".join(frame(5, 1)) if own_frames_follow else b""
    records, flaws = read(first + bytes(second) + rest)
    assert records == [record(1)] + ([record(5)] if own_frames_follow else [])
    assert len(flaws) == 1


def test_two_files_put_together_are_read_as_both() -> None:
    encoder = FrameEncoder(Marker(b"another!", "x", "w0", 1))
    records, flaws = read(DATA + encoder.encode(record(99)) + FRAME_END + DATA)
    assert records == [*read(DATA)[0], record(99), *read(DATA)[0]]
    assert flaws == []


def test_bodies_can_be_left_out() -> None:
    (found,) = read_frames(b"".join(frame(0, 2)), bodies=False)
    assert isinstance(found, Frame)
    assert [(item.meta, item.body) for item in found.records] == [(b'{"n":0}', b""), (b'{"n":1}', b"")]


def test_the_first_records_are_there_before_the_rest_is_read() -> None:
    pieces = frame(0, 3)
    early = first_records(pieces[0] + pieces[1] + b"\xff" * 9)
    assert [next(early), next(early)] == [record(0), record(1)]
    assert list(early) == []
    assert list(first_records(DATA)) == [record(number) for number in range(PER_FRAME)]
    assert list(first_records(b"nothing of the kind")) == []


def test_a_frame_can_be_read_alone_by_its_offsets() -> None:
    damaged = bytearray(DATA)
    damaged[SPANS[7][1] + 5] ^= 1
    for found in read_frames(bytes(damaged)):
        if isinstance(found, Frame):
            (again,) = read_frames(bytes(damaged[found.offset : found.end]))
            assert isinstance(again, Frame)
            assert again.records == found.records
