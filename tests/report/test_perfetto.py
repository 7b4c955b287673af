from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from corpus.run import Run, SentRequest, read_run
from corpus.server_metrics import ServerSample
from corpus.session import Anchor
from report.perfetto import perfetto_trace
from tests.report.test_run_view import ROW

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "run"
S = 1_000_000
END: Anchor = "end"


@dataclass(frozen=True)
class Drawn:
    """One slice as the viewer would nest it; `inside` are its children in order."""

    track: int
    name: str
    start_ns: int
    end_ns: int
    inside: tuple[Drawn, ...]
    notes: dict[str, Any]


class Read:
    """A trace read back with Perfetto's own classes; every begin must have its end, and times must not go back."""

    def __init__(self, data: bytes) -> None:
        packets = Trace.FromString(data).packet
        self.tracks = {p.track_descriptor.uuid: p.track_descriptor for p in packets if p.HasField("track_descriptor")}
        self.events = [p for p in packets if p.HasField("track_event")]
        assert len(self.tracks) + len(self.events) == len(packets)
        by_track = defaultdict(list)
        for packet in self.events:
            by_track[packet.track_event.track_uuid].append(packet)
        assert by_track.keys() <= self.tracks.keys()
        self.slices = [drawn for uuid, mine in by_track.items() for drawn in self._nest(uuid, mine)]

    def _nest(self, uuid: int, packets: list[Any]) -> Iterator[Drawn]:
        assert [p.timestamp for p in packets] == sorted(p.timestamp for p in packets)
        open_: list[tuple[Any, list[Drawn]]] = []
        for packet in packets:
            event = packet.track_event
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                open_.append((packet, []))
            elif event.type == TrackEvent.TYPE_SLICE_END:
                began, inside = open_.pop()
                notes = {n.name: getattr(n, n.WhichOneof("value")) for n in began.track_event.debug_annotations}
                done = Drawn(uuid, began.track_event.name, began.timestamp, packet.timestamp, tuple(inside), notes)
                if open_:
                    open_[-1][1].append(done)
                else:
                    yield done
        assert not open_, "a begin without its end"

    def path(self, uuid: int) -> list[str]:
        track = self.tracks[uuid]
        above = self.path(track.parent_uuid) if track.HasField("parent_uuid") else []
        return [*above, track.name]

    def levels(self, name: str) -> list[tuple[int, int]]:
        (uuid,) = [uuid for uuid, track in self.tracks.items() if track.name == name and track.HasField("counter")]
        mine = [packet for packet in self.events if packet.track_event.track_uuid == uuid]
        return [(packet.timestamp // 1000, packet.track_event.counter_value) for packet in mine]

    def flows(self) -> tuple[Counter[int], Counter[int]]:
        out: Counter[int] = Counter()
        into: Counter[int] = Counter()
        for packet in self.events:
            out.update(packet.track_event.flow_ids)
            into.update(packet.track_event.terminating_flow_ids)
        return out, into


def read(*rows: SentRequest) -> Read:
    return Read(perfetto_trace(Run({}, rows, {})))


def assert_whole(trace: Read, rows: tuple[SentRequest, ...]) -> None:
    """Every row is there twice, slices do not overlap, and each edge is a flow of its own on either side."""
    names = Counter(tuple(trace.path(drawn.track))[-1].split(", ")[1] for drawn in trace.slices)
    assert names["recorded"] == len(rows)
    assert names["replayed"] == sum(row.sent_us is not None for row in rows)
    ends: dict[int, int] = {}
    for drawn in trace.slices:
        assert ends.get(drawn.track, 0) <= drawn.start_ns <= drawn.end_ns
        ends[drawn.track] = drawn.end_ns
        for part in drawn.inside:
            assert drawn.start_ns <= part.start_ns < part.end_ns <= drawn.end_ns
    there = {(row.play, row.request) for row in rows}
    edges = sum((row.play, src) in there for row in rows for src in row.after)
    out, into = trace.flows()
    assert set(out.values()) | set(into.values()) <= {1}
    assert out.keys() == into.keys()
    assert len(out) == 2 * edges


def test_a_request_contains_its_wait_its_first_token_and_its_decoding() -> None:
    trace = read(ROW)
    recorded, replayed = sorted(trace.slices, key=lambda drawn: len(drawn.inside))
    assert trace.path(recorded.track) == ["lane 0", "play 0: session 1", "main, recorded"]
    assert trace.path(replayed.track) == ["lane 0", "play 0: session 1", "main, replayed"]
    parts = [(part.name, part.start_ns // 1000, part.end_ns // 1000) for part in replayed.inside]
    assert parts == [
        ("wait", 10 * S, 10 * S + 2000),
        ("ttft", 10 * S + 2000, 11 * S),
        ("decode", 11 * S, 12 * S),
    ]
    assert (recorded.start_ns, recorded.end_ns) == ((10 * S + 2000) * 1000, (13 * S + 2000) * 1000)
    assert replayed.notes["cached_tokens"] == 320
    assert replayed.notes["sent_after_due_us"] == 2000
    assert "model" not in replayed.notes  # unknown


def test_overlapping_requests_of_an_agent_get_tracks_of_their_own() -> None:
    beside = replace(ROW, request=1, recorded_start_us=S, recorded_end_us=2 * S)
    trace = read(ROW, beside)
    names = {trace.path(drawn.track)[-1] for drawn in trace.slices}
    assert names == {"main, recorded", "main, recorded, beside 1", "main, replayed", "main, replayed, beside 1"}
    assert_whole(trace, (ROW, beside))


def test_what_was_never_sent_is_an_instant_and_what_failed_says_why() -> None:
    unsent = replace(ROW, request=1, sent_us=None, first_token_us=None, end_us=None, error="cut", after=(0,))
    failed = replace(
        ROW, request=2, first_token_us=None, error="http_5xx", recorded_start_us=9 * S, recorded_end_us=None
    )
    trace = read(ROW, unsent, failed)
    (instant,) = [p for p in trace.events if p.track_event.type == TrackEvent.TYPE_INSTANT]
    assert instant.track_event.name == "request 1 never sent (cut)"
    assert instant.timestamp == 10 * S * 1000
    (after,) = [drawn for drawn in trace.slices if "http_5xx" in drawn.name]
    assert [part.name for part in after.inside] == ["wait", "ttft"]


def test_counters_rise_and_fall_with_the_requests() -> None:
    later = replace(ROW, request=1, sent_us=11 * S, first_token_us=13 * S, end_us=14 * S, planned_input_tokens=100)
    trace = read(ROW, later)
    start = 10 * S + 2000
    assert trace.levels("in flight") == [(start, 1), (11 * S, 2), (12 * S, 1), (14 * S, 0)]
    assert trace.levels("waiting for the first token") == [(start, 1), (11 * S, 1), (13 * S, 0)]
    assert trace.levels("prompt tokens in flight") == [(start, 640), (11 * S, 740), (12 * S, 100), (14 * S, 0)]


def test_times_before_the_run_move_everything_and_keep_distances() -> None:
    warm = replace(ROW, request=1, phase="warmup", recorded_start_us=0, recorded_end_us=S, sent_us=S, due_us=S)
    row = replace(ROW, recorded_start_us=60 * S, recorded_end_us=61 * S)
    trace = read(row, warm)
    assert min(packet.timestamp for packet in trace.events) == 0
    recorded = {d.name: d for d in trace.slices if trace.path(d.track)[-1] == "main, recorded"}
    assert recorded["request 0"].start_ns - recorded["request 1"].start_ns == 60 * S * 1000


def test_an_empty_run_has_its_counters_only() -> None:
    trace = read()
    assert trace.slices == []
    assert {track.name for track in trace.tracks.values()} >= {"the whole run", "in flight"}


def test_the_sample_run_is_read_back_whole() -> None:
    run = read_run(SAMPLE)
    trace = Read(perfetto_trace(run))
    assert_whole(trace, run.requests)
    assert perfetto_trace(run) == perfetto_trace(run)


moments = st.integers(0, 30)


@st.composite
def runs(draw: st.DrawFn) -> tuple[SentRequest, ...]:
    """Any mixture of plays, agents and failures; whoever waits does so for requests of its play."""
    rows = []
    for play in range(draw(st.integers(0, 3))):
        for request in range(draw(st.integers(1, 8))):
            due = draw(moments)
            sent = draw(st.none() | st.integers(due, due + 9))
            first = None if sent is None else draw(st.none() | st.integers(sent, sent + 9))
            end = None if sent is None else draw(st.none() | st.integers(first or sent, 60))
            after = tuple(sorted(draw(st.sets(st.integers(0, request), max_size=3)) - {request}))
            recorded = draw(moments)
            rows.append(
                replace(
                    ROW,
                    lane=play % 2,
                    play=play,
                    request=request,
                    agent=draw(st.integers(0, 2)),
                    phase=draw(st.sampled_from(["warmup", "profile"])),
                    after=after,
                    after_delay_us=(0,) * len(after),
                    after_anchor=(END,) * len(after),
                    due_us=due,
                    sent_us=sent,
                    first_token_us=first,
                    end_us=end,
                    recorded_start_us=recorded,
                    recorded_end_us=draw(st.none() | st.integers(recorded, recorded + 20)),
                )
            )
    return tuple(rows)


@given(runs())
def test_any_run_nests_and_has_every_flow_twice(rows: tuple[SentRequest, ...]) -> None:
    trace = read(*rows)
    assert_whole(trace, rows)
    groups = {tuple(trace.path(drawn.track)[:2]) for drawn in trace.slices}
    assert groups == {(f"lane {row.lane}", f"play {row.play}: session {row.session + 1}") for row in rows}


def test_what_the_server_told_is_a_counter_a_source_and_name() -> None:
    told = [("waiting", 0, 2), ("waiting", S, 5), ("output_tokens", 0, 100), ("output_tokens", 2 * S, 500)]
    samples = [ServerSample(at, "gpu", name, value) for name, at, value in told]
    read = Read(perfetto_trace(Run({}, (ROW,), {}), samples))
    counters = {
        track.name: (
            track.counter.unit_name,
            read.tracks[track.parent_uuid].name,
            [
                (p.timestamp, p.track_event.double_counter_value)
                for p in read.events
                if p.track_event.track_uuid == uuid
            ],
        )
        for uuid, track in read.tracks.items()
        if track.name in ("waiting", "output tokens")
    }
    assert counters == {
        "waiting": ("requests", "server gpu", [(0, 2.0), (S * 1000, 5.0)]),
        "output tokens": ("tokens/s", "server gpu", [(2 * S * 1000, 200.0)]),
    }
