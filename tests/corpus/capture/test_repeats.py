from __future__ import annotations

import itertools
import random
import tracemalloc

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from corpus.capture import repeats
from corpus.capture.recovery import Frame, first_records, read_frames
from corpus.capture.repeats import (
    MAX_COPIES,
    MOST_BYTES,
    SLOTS,
    WORTH_BYTES,
    Copy,
    Shelf,
    Slots,
    find_copies,
    shared_bytes,
    take,
)
from corpus.capture.segment import FRAME_END, VERSION, FrameEncoder, Marker, Record, encode_marker, record_head

MARKER = Marker(b"12345678", "s", "w0", 1)
TEXT = random.Random(7).randbytes(200_000)  # each stretch of it is found in one place only


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Stretches of one text with a little in between: two of these share what chance has it."""
    stretch = st.tuples(st.integers(0, 3), st.integers(0, 60_000), st.binary(max_size=40))
    pieces = draw(st.lists(stretch, min_size=1, max_size=6))
    return b"".join(TEXT[part * 40_000 : part * 40_000 + length] + own for part, length, own in pieces)


def put_together(base: bytes, body: bytes, copies: list[Copy]) -> bytes:
    built = bytearray()
    for copy in copies:
        built += body[len(built) : copy.at] + base[copy.of : copy.of + copy.length]
    return bytes(built + body[len(built) :])


@given(bodies(), bodies())
@example(TEXT, TEXT)
@example(TEXT, b"")
@example(b"ab" * 50_000, b"ab" * 49_999 + b"b")
def test_copies_are_of_what_is_the_same(base: bytes, body: bytes) -> None:
    copies = find_copies(base, body)
    assert len(copies) <= MAX_COPIES
    assert all(one.at + one.length <= other.at for one, other in itertools.pairwise(copies))
    assert put_together(base, body, copies) == body


@given(st.lists(bodies(), max_size=12))
def test_any_row_of_bodies_comes_back(row: list[bytes]) -> None:
    come_back(row)


def come_back(row: list[bytes]) -> Slots:
    """The slots as whoever reads them fills them."""
    shelf, slots = Shelf(), Slots()
    for body in row:
        pieces = shelf.put(body)
        if pieces is None:
            assert len(body) < WORTH_BYTES
            continue
        slot, found = take(memoryview(b"".join(pieces)), slots.bodies)
        slots.put(slot, found)
        assert found == body
        assert slots.held_bytes == shelf.held_bytes
    return slots


def test_slots_that_hold_too_much_together_drop_the_longest_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MOST_HELD_BYTES", 130_000)
    first, second, third = (TEXT[start : start + 40_000] for start in range(0, 120_000, 40_000))
    assert {body for body in come_back([first, second, third]).bodies if body} == {first, second, third}
    slots = come_back([first, second, third, first + b"more" * 5_000, second + b"more", third])
    assert {body for body in slots.bodies if body} == {second + b"more", third}


@given(st.lists(bodies(), max_size=12), st.integers(0, 300_000))
def test_whoever_reads_drops_what_the_writer_dropped(row: list[bytes], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "MOST_HELD_BYTES", most)
        assert come_back(row).held_bytes <= max(most, *map(len, row), 0)


@given(st.binary(max_size=400), st.lists(st.binary(max_size=90), min_size=SLOTS, max_size=SLOTS))
def test_noise_is_a_body_or_a_value_error(noise: bytes, slots: list[bytes]) -> None:
    try:
        _, body = take(memoryview(noise), slots)
    except ValueError:
        return
    assert len(body) <= len(noise) + MAX_COPIES * max(map(len, slots))


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body[:-30] + b"more" * 300 + body[-30:],  # tools and system behind the messages
        lambda body: body[:9_000] + b"another hint" + body[9_012:] + b"more" * 300,
        lambda body: body[:9_000] + body[9_060:70_000] + b"a mark moved" + body[70_000:] + b"more" * 300,
        lambda body: body[:9_000] + random.Random(1).randbytes(3_000) + body[9_000:],  # one more tool
        lambda body: body,
    ],
)
def test_what_a_turn_changes_is_all_that_is_stored(change: object) -> None:
    body = TEXT[:120_000]
    changed: bytes = change(body)  # type: ignore[operator]
    shelf = Shelf()
    shelf.put(body)
    stored = shelf.put(changed)
    assert stored is not None
    assert sum(map(len, stored)) < 5_000


def test_conversations_that_take_turns_keep_a_slot_each() -> None:
    shelf = Shelf()
    row = [TEXT[start : start + 40_000] for start in range(0, SLOTS * 40_000, 40_000)]
    for body in row:
        shelf.put(body)
    for turn in range(3):
        for number, body in enumerate(row):
            row[number] = body + b"turn %d of %d" % (turn, number)
            assert sum(map(len, shelf.put(row[number]) or [])) < 200


def test_what_begins_like_another_conversation_copies_it_and_leaves_it_its_slot() -> None:
    shelf = Shelf()
    shelf.put(TEXT[:120_000])
    beside = TEXT[:40_000] + TEXT[150_000:170_000]
    assert sum(map(len, shelf.put(beside) or [])) < 21_000
    assert sum(map(len, shelf.put(TEXT[:120_000] + b"more") or [])) < 100
    assert sum(map(len, shelf.put(beside + b"more") or [])) < 100


def test_short_and_huge_bodies_take_no_slot() -> None:
    shelf = Shelf()
    assert shelf.put(TEXT[: WORTH_BYTES - 1]) is None
    assert shelf.put(bytes(MOST_BYTES + 1)) is None


def test_a_conversation_is_stored_once_and_its_answers_as_they_are() -> None:
    encoder = FrameEncoder(MARKER)
    records = [
        Record("request", b"{}", TEXT[:60_000]),
        Record("response", b"{}", TEXT[:60_000]),
        Record("request", b"{}", TEXT[:60_100]),
        Record("gap", b"{}", b""),
    ]
    pieces = [encoder.encode(record) for record in records]
    assert len(pieces[2]) < 300
    assert list(first_records(b"".join(pieces))) == records


@given(st.lists(st.tuples(st.sampled_from(["request", "response"]), bodies()), min_size=1, max_size=8), st.data())
def test_cut_anywhere_a_frame_yields_the_records_before(row: list[tuple[str, bytes]], data: st.DataObject) -> None:
    encoder = FrameEncoder(MARKER)
    records = [Record(kind, b"{}", body) for kind, body in row]  # type: ignore[arg-type]
    pieces = [encoder.encode(record) for record in records]
    ends = list(itertools.accumulate(map(len, pieces)))
    cut = data.draw(st.integers(0, ends[-1]))
    whole = sum(end <= cut for end in ends)
    assert list(first_records(b"".join(pieces)[:cut])) == records[:whole]
    (found,) = read_frames(b"".join(pieces) + FRAME_END, bodies=False)
    assert isinstance(found, Frame)
    assert (len(found.records), found.flaw) == (len(records), None)


SESSION = [Record("request", b'{"n":%d}' % n, TEXT[: 40_000 + 150 * n] + b"hint %d" % n) for n in range(6)]


def frames(count: int) -> list[list[bytes]]:
    encoders = [FrameEncoder(MARKER) for _ in range(count)]
    return [[encoder.encode(record) for record in SESSION] for encoder in encoders]


@given(st.data())
def test_damage_costs_no_more_than_the_rest_of_its_frame(data: st.DataObject) -> None:
    parts = [[*pieces, FRAME_END] for pieces in frames(3)]
    stored = bytearray(b"".join(map(b"".join, parts)))
    late = len(parts[0][0]) - 500  # the first record is large, and its noise hides no structure
    at = data.draw(st.integers(late, sum(map(len, parts[0])) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    before = sum(end <= at for end in itertools.accumulate(map(len, parts[0])))
    found = list(read_frames(bytes(stored)))
    records = [record for frame in found if isinstance(frame, Frame) for record in frame.records]
    assert records[: min(before, len(SESSION))] == SESSION[:before]
    assert records[-2 * len(SESSION) :] == SESSION * 2
    assert all(record in SESSION for record in records)


def test_every_cut_of_a_session_yields_a_prefix_of_it() -> None:
    (pieces,) = frames(1)
    whole = b"".join(pieces)
    ends = list(itertools.accumulate(map(len, pieces)))
    for cut in range(len(pieces[0]) - 5, len(whole) + 1):
        assert list(first_records(whole[:cut])) == SESSION[: sum(end <= cut for end in ends)]


def test_bodies_stored_whole_as_before_are_read() -> None:
    stored = b"".join(record_head(one, VERSION, len(one.body)) + one.meta + one.body for one in SESSION)
    frame = encode_marker(MARKER) + zstandard.ZstdCompressor().compress(stored)
    assert list(first_records(frame)) == SESSION


def test_reading_a_frame_of_large_bodies_holds_the_last_of_each_conversation() -> None:
    encoder = FrameEncoder(MARKER)
    large = random.Random(2).randbytes(1_000_000) * 4
    sent = [encoder.encode(Record("request", b"{}", large + b"turn" * n)) for n in range(12)]
    del encoder
    data = b"".join(sent)
    tracemalloc.start()
    try:
        assert sum(len(record.body) for record in first_records(data)) > 12 * len(large)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(large)


@given(st.binary(max_size=200), st.integers(0, 200), st.integers(0, 5), st.integers(1, 1000))
def test_shared_bytes_are_those_up_to_the_first_difference(data: bytes, cut: int, at: int, times: int) -> None:
    long = data * times
    cut = min(cut * times, len(long))
    changed = long[:cut] + (bytes([long[cut] ^ 1]) + b"rest" if cut < len(long) else b"more")
    assert shared_bytes(b"_" * at + long, at, changed, 0) == cut
    assert shared_bytes(changed, 0, long, 0) == cut
