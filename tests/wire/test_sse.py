from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.sse import SseEvent, SseSplitter, format_sse, split_sse

# streams made of the pieces that decide how a stream is split
pieces = st.sampled_from(
    [b"\n", b"\r", b"\r\n", b"data", b"event", b"id", b":", b": ", b" ", b"a", b"\xef\xbb\xbf", b"\xc3", b"{}", b"\x85"]
)
streams = st.lists(pieces, max_size=40).map(b"".join)


def fed(chunks: list[bytes]) -> list[SseEvent]:
    splitter = SseSplitter()
    events = [event for chunk in chunks for event in splitter.feed(chunk)]
    return events + splitter.finish()


@given(streams, st.data())
def test_cuts_never_change_the_events(stream: bytes, data: st.DataObject) -> None:
    whole = split_sse(stream)
    assert fed([stream[i : i + 1] for i in range(len(stream))]) == whole
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    assert fed([stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]) == whole


@given(st.lists(st.sampled_from([b"data: a\n\n", b"data: b\n\ndata: c\n\n"]) | streams, max_size=6))
def test_short_way_to_the_data_gives_what_the_long_way_gives(reads: list[bytes]) -> None:
    short, long = SseSplitter(), SseSplitter()
    for read in reads:
        assert short.feed_data(read) == [event.data for event in long.feed(read)]


@given(st.lists(st.tuples(st.none() | st.sampled_from(["message_start", "x"]), st.binary()), max_size=5))
def test_formatted_events_come_back_with_line_ends_as_lf(sent: list[tuple[str | None, bytes]]) -> None:
    stream = b"".join(format_sse(event, data) for event, data in sent)
    expected = [SseEvent(event or "message", re.sub(rb"\r\n?", b"\n", data)) for event, data in sent]
    assert split_sse(stream) == expected


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_of_the_standard_is_understood(end: bytes) -> None:
    stream = end.join([b"event: ping", b"data: 1", b"data: 2", b"", b"data:3", b"", b""])
    assert split_sse(stream) == [SseEvent("ping", b"1\n2"), SseEvent("message", b"3")]


def test_comments_ids_and_unknown_fields_are_read_over() -> None:
    assert split_sse(b": keep-alive\nid: 7\nretry: 10\nfoo: bar\ndata: x\n\n") == [SseEvent("message", b"x")]


def test_byte_order_mark_counts_only_at_the_start() -> None:
    bom = b"\xef\xbb\xbf"
    assert split_sse(bom + b"data: x\n\n" + bom + b"data: y\n\n") == [SseEvent("message", b"x")]


def test_event_without_data_is_no_event_and_its_name_is_forgotten() -> None:
    assert split_sse(b"event: ping\n\ndata: x\n\n") == [SseEvent("message", b"x")]


def test_empty_data_line_is_an_event_with_empty_data() -> None:
    assert split_sse(b"data\n\ndata:\n\n") == [SseEvent("message", b""), SseEvent("message", b"")]


def test_only_one_space_after_the_colon_belongs_to_the_field() -> None:
    assert split_sse(b"data:  x \n\n") == [SseEvent("message", b" x ")]


def test_event_that_no_blank_line_ended_is_dropped() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: done\n\ndata: cut\n") == [SseEvent("message", b"done")]
    assert splitter.finish() == []
    assert splitter.feed(b"\n") == []


def test_event_name_with_a_line_end_is_refused() -> None:
    with pytest.raises(ValueError):
        format_sse("a\nb", b"")
