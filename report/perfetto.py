"""A run as a Perfetto trace, to be opened in its viewer: what was recorded and what was replayed, side by side.

    lane 0
      play 3: session 4
        main, recorded      request | request ...
        main, replayed      request > wait, ttft, decode ...
        agent 1, recorded   ...

Slices of one track must nest, so requests of an agent that overlap get further tracks of it. Each edge is a flow of its
own, once among the recorded and once among the replayed requests. Recorded times are shifted so that a play's first
profiled request begins when it was sent. A request that was never sent is an instant at the moment it was due.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Final

from corpus.run import Run, SentRequest
from corpus.server_metrics import METRICS, ServerSample, rates
from report import perfetto_wire
from report.perfetto_wire import Note

_NOTES: Final = (
    "session",
    "request",
    "agent",
    "phase",
    "model",
    "planned_input_tokens",
    "measured_input_tokens",
    "planned_output_tokens",
    "measured_output_tokens",
    "cached_tokens",
    "predicted_cached_tokens",
    "status",
    "error",
)
# counter, unit, what it counts of a request, from when until when
_COUNTERS: Final = (
    ("in flight", "requests", None, "sent_us", "end_us"),
    ("waiting for the first token", "requests", None, "sent_us", "first_token_us"),
    ("prompt tokens in flight", "tokens", "planned_input_tokens", "sent_us", "end_us"),
)


@dataclass(frozen=True, slots=True)
class _Slice:
    """`parts` lie inside it, one after another; without an end it is an instant."""

    row: SentRequest
    name: str
    start_us: int
    end_us: int | None
    notes: dict[str, Note]
    parts: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Flows:
    out: dict[int, list[int]]  # request -> numbers of the edges that leave it
    into: dict[int, list[int]]


def perfetto_trace(run: Run, samples: Sequence[ServerSample] = ()) -> bytes:
    """The same run gives the same bytes; `samples` are what the server told meanwhile."""
    plays = _by_play(run.requests)
    slices = {play: (_recorded(rows), [_replayed(row) for row in rows]) for play, rows in plays.items()}
    zero = min((s.start_us for sides in slices.values() for side in sides for s in side), default=0)
    zero = min((zero, *(sample.at_us for sample in samples)))
    writer = _Writer(min(zero, 0))
    lanes = sorted({rows[0].lane for rows in plays.values()})
    writer.counters(run.requests)
    writer.server(samples)
    for lane in lanes:
        group = writer.track(f"lane {lane}", None, 1 + lane)
        for play, rows in plays.items():
            if rows[0].lane == lane:
                name = f"play {play}: session {rows[0].session + 1}"
                writer.play(writer.track(name, group, play), *slices[play])
    return b"".join(writer.packets)


def _by_play(rows: Iterable[SentRequest]) -> dict[int, list[SentRequest]]:
    ordered = sorted(rows, key=lambda row: (row.play, row.recorded_start_us, row.request))
    return {play: list(mine) for play, mine in groupby(ordered, key=lambda row: row.play)}


def _recorded(rows: Sequence[SentRequest]) -> list[_Slice]:
    first = min(rows, key=lambda row: (row.sent_us is None, row.phase == "warmup", row.sent_us or 0))
    shift = (first.due_us if first.sent_us is None else first.sent_us) - first.recorded_start_us
    return [
        _Slice(
            row,
            f"request {row.request}",
            row.recorded_start_us + shift,
            shift + (row.recorded_start_us if row.recorded_end_us is None else row.recorded_end_us),
            {"input_tokens": row.planned_input_tokens, "output_tokens": row.planned_output_tokens},
        )
        for row in rows
    ]


def _replayed(row: SentRequest) -> _Slice:
    notes: dict[str, Note] = {name: value for name in _NOTES if (value := getattr(row, name)) is not None}
    failed = f" ({row.error})" if row.error else ""
    if row.sent_us is None:
        return _Slice(row, f"request {row.request} never sent{failed}", row.due_us, None, notes)
    notes["sent_after_due_us"] = row.sent_us - row.due_us
    start = min(row.due_us, row.sent_us)
    known_us = [moment for moment in (row.first_token_us, row.end_us) if moment is not None]
    stop = max([row.sent_us, *known_us])
    first = stop if row.first_token_us is None else max(row.sent_us, row.first_token_us)
    parts = (("wait", start, row.sent_us), ("ttft", row.sent_us, first), ("decode", first, stop))
    return _Slice(row, f"request {row.request}{failed}", start, stop, notes, tuple(p for p in parts if p[1] < p[2]))


class _Writer:
    def __init__(self, zero_us: int) -> None:
        self.packets: list[bytes] = []
        self._zero_us = zero_us
        self._uuids = count(1)
        self._flows = count(1)

    def track(self, name: str, parent: int | None, rank: int, unit: str | None = None) -> int:
        uuid = next(self._uuids)
        self.packets.append(perfetto_wire.track(uuid, name, parent, rank, unit))
        return uuid

    def counters(self, rows: Sequence[SentRequest]) -> None:
        group = self.track("the whole run", None, 0)
        for rank, (name, unit, weight, since, until) in enumerate(_COUNTERS):
            uuid = self.track(name, group, rank, unit)
            for at_us, value in _levels(rows, weight, since, until):
                self.packets.append(perfetto_wire.count(uuid, self._ns(at_us), value))

    def server(self, samples: Sequence[ServerSample]) -> None:
        """A counter for each metric of each source; of what only grows, the growth a second since the last sample."""
        told: dict[tuple[str, str], list[ServerSample]] = {}
        for sample in samples:
            told.setdefault((sample.source, sample.name), []).append(sample)
        groups: dict[str, int] = {}
        for rank, ((source, name), found) in enumerate(sorted(told.items())):
            if source not in groups:
                groups[source] = self.track(f"server {source}", None, 0)
            metric = METRICS[name]
            counted = metric.kind == "counter"
            words, unit = name.replace("_", " "), f"{metric.unit}/s" if counted else metric.unit
            uuid = self.track(words, groups[source], rank, unit)
            for at_us, value in rates(found) if counted else ((sample.at_us, sample.value) for sample in found):
                self.packets.append(perfetto_wire.level(uuid, self._ns(at_us), value))

    def play(self, group: int, recorded: Sequence[_Slice], replayed: Sequence[_Slice]) -> None:
        ranks = count()
        flows = {side: self._number_edges(replayed) for side in ("recorded", "replayed")}
        for agent in sorted({s.row.agent for s in replayed}):
            who = "main" if agent == 0 else f"agent {agent}"
            for side, slices in (("recorded", recorded), ("replayed", replayed)):
                for number, together in enumerate(_nested([s for s in slices if s.row.agent == agent])):
                    name = f"{who}, {side}" + (f", beside {number}" if number else "")
                    uuid = self.track(name, group, next(ranks))
                    for drawn in together:
                        self._slice(uuid, side, drawn, flows[side])

    def _number_edges(self, slices: Sequence[_Slice]) -> _Flows:
        flows = _Flows({}, {})
        drawn = {s.row.request for s in slices}
        for dst in slices:
            for src in dst.row.after:
                if src in drawn:
                    flow = next(self._flows)
                    flows.out.setdefault(src, []).append(flow)
                    flows.into.setdefault(dst.row.request, []).append(flow)
        return flows

    def _slice(self, uuid: int, side: str, drawn: _Slice, flows: _Flows) -> None:
        request = drawn.row.request
        self.packets.append(
            perfetto_wire.begin(
                uuid,
                self._ns(drawn.start_us),
                drawn.name,
                f"{side},{drawn.row.phase}",
                drawn.notes,
                flows.out.get(request, ()),
                flows.into.get(request, ()),
                is_instant=drawn.end_us is None,
            )
        )
        for name, start_us, stop_us in drawn.parts:
            self.packets.append(perfetto_wire.begin(uuid, self._ns(start_us), name))
            self.packets.append(perfetto_wire.end(uuid, self._ns(stop_us)))
        if drawn.end_us is not None:
            self.packets.append(perfetto_wire.end(uuid, self._ns(drawn.end_us)))

    def _ns(self, time_us: int) -> int:
        return (time_us - self._zero_us) * 1000


def _nested(slices: Sequence[_Slice]) -> list[list[_Slice]]:
    """The slices on as few tracks as it takes that none overlap on any of them."""
    tracks: list[tuple[int, list[_Slice]]] = []
    for drawn in sorted(slices, key=lambda s: (s.start_us, s.row.request)):
        end_us = drawn.start_us if drawn.end_us is None else drawn.end_us
        number = next((n for n, (until, _) in enumerate(tracks) if until <= drawn.start_us), len(tracks))
        together = tracks[number][1] if number < len(tracks) else []
        together.append(drawn)
        tracks[number : number + 1] = [(end_us, together)]
    return [together for _, together in tracks]


def _levels(rows: Iterable[SentRequest], weight: str | None, since: str, until: str) -> Iterator[tuple[int, int]]:
    """What the counter shows from each moment on at which it changes; what never ended counts to the end."""
    changes: dict[int, int] = {}
    for row in rows:
        start, stop = getattr(row, since), getattr(row, until)
        if start is None:
            continue
        amount = 1 if weight is None else getattr(row, weight)
        stop = row.end_us if stop is None else stop
        changes[start] = changes.get(start, 0) + amount
        if stop is not None:
            changes[stop] = changes.get(stop, 0) - amount
    level = 0
    for at_us, change in sorted(changes.items()):
        level += change
        yield at_us, level
