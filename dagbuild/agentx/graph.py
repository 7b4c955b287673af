"""A session as the reference's streams and branches, and as plain JSON in the shape of its dump."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from corpus.errors import InputError
from corpus.session import Session
from dagbuild.agentx.branches import Branch, Child, branches_of, is_dropped
from dagbuild.agentx.chains import detect_chains
from dagbuild.agentx.entries import Call, Entries, Group, as_imported, entries_of
from dagbuild.agentx.frontier import Turn, frontier
from dagbuild.agentx.workers import worker_names
from dagbuild.prefixes import Prefixes


@dataclass(frozen=True, slots=True)
class Stream:
    """One conversation. `scope` names the streams that it is compared with; `place` is its group's, None: main's."""

    name: str
    scope: str
    place: int | None
    calls: list[Call]


@dataclass(frozen=True, slots=True)
class Graph:
    """The first stream is the root."""

    streams: list[Stream]
    branches: list[Branch]
    after: dict[Turn, list[Turn]] = field(repr=False)


def build_graph(session: Session) -> Graph:
    """InputError where the reference refuses the session: two sub-agents with one id, a join before its spawn."""
    session = as_imported(session)
    prefixes = Prefixes(session.requests)
    entries = entries_of(session, prefixes.counts)
    root, found = _main_streams(entries, prefixes)
    groups = [group for group in entries.groups if not is_dropped(group.place, root.calls)]
    _check_ids(groups, session.label)
    inner = {group.agent_id: _group_streams(entries, group, prefixes) for group in groups}
    declared = [_declared_child(session.label, group, inner[group.agent_id]) for group in groups]
    flat = [_flat_child(session.label, number, stream) for number, stream in enumerate(found)]
    streams = [root, *(stream for group in groups for stream in inner[group.agent_id]), *found]
    branches = [*branches_of(declared, root.calls), *branches_of(flat, root.calls)]
    _check_order(branches, session.label)
    return Graph(streams, branches, _after(streams))


def _main_streams(entries: Entries, prefixes: Prefixes) -> tuple[Stream, list[Stream]]:
    label = entries.session.label
    detected = detect_chains(entries.calls, prefixes, entries.session.requests)
    # Without a second chain the reference keeps the order of the file.
    main = Stream(label, label, None, detected.main if detected.workers else list(entries.calls))
    names = worker_names(detected.workers, detected.yardstick)
    return main, [
        Stream(f"{label}::{name}", label, None, chain.calls)
        for name, chain in zip(names, detected.workers, strict=True)
    ]


def _group_streams(entries: Entries, group: Group, prefixes: Prefixes) -> list[Stream]:
    scope = f"{entries.session.label}::sa:{group.agent_id}"
    detected = detect_chains(group.calls, prefixes, entries.session.requests)
    names = worker_names(detected.workers, detected.yardstick)
    return [
        Stream(scope, scope, group.place, detected.main),
        *(
            Stream(f"{scope}:{name}", scope, group.place, chain.calls)
            for name, chain in zip(names, detected.workers, strict=True)
        ),
    ]


def _check_ids(groups: Sequence[Group], label: str) -> None:
    seen: set[str] = set()
    for group in groups:
        if group.agent_id in seen:
            raise InputError(label, f"two sub-agents are called {group.agent_id!r}", "give each an id of its own")
        seen.add(group.agent_id)


def _check_order(branches: Sequence[Branch], label: str) -> None:
    for branch in branches:
        if branch.join is not None and branch.join <= branch.spawn:
            problem = f"branch {branch.name!r} would join main turn {branch.join}, before turn {branch.spawn} starts it"
            raise InputError(label, problem, "bring the entries of the file into order of time")


def _declared_child(label: str, group: Group, streams: Sequence[Stream]) -> Child:
    names = tuple(stream.name for stream in streams)
    return Child(group.place, group.start_s, group.end_s, f"{label}:spawn:{group.agent_id}", names)


def _flat_child(label: str, number: int, stream: Stream) -> Child:
    first, end_s = stream.calls[0], max(call.end_s for call in stream.calls)
    return Child(first.place, first.start_s, end_s, f"{label}:flatspawn:{number}", (stream.name,))


def _after(streams: Sequence[Stream]) -> dict[Turn, list[Turn]]:
    scopes: dict[str, dict[str, list[Call]]] = {}
    for stream in streams:
        scopes.setdefault(stream.scope, {})[stream.name] = stream.calls
    return {turn: waits for scope in scopes.values() for turn, waits in frontier(scope).items()}


def agentx_documents(session: Session) -> list[dict[str, Any]]:
    """One document a stream, the root first; times in milliseconds."""
    graph = build_graph(session)
    return [_document(graph, stream) for stream in graph.streams]


def _document(graph: Graph, stream: Stream) -> dict[str, Any]:
    is_root = stream is graph.streams[0]
    branches = graph.branches if is_root else []
    return {
        "stream": stream.name,
        "root": is_root,
        "scope": stream.scope,
        "branches": [
            {
                "id": branch.name,
                "children": list(branch.streams),
                "background": branch.join is None,
                "start_ms": branch.start_s * 1000.0,
            }
            for branch in branches
        ],
        "turns": list(_turns(graph, stream, branches)),
    }


def _turns(graph: Graph, stream: Stream, branches: Sequence[Branch]) -> Iterator[dict[str, Any]]:
    before: Call | None = None
    for number, call in enumerate(stream.calls):
        yield {
            "outer": call.place if stream.place is None else stream.place,
            "inner": None if stream.place is None else call.place,
            "t_ms": call.start_s * 1000.0,
            "delay_ms": None if before is None else round(_delay_ms(before, call), 3),
            "api_ms": None if call.api_s is None else call.api_s * 1000.0,
            "max_tokens": max(1, call.output_tokens),
            "spawns": [branch.name for branch in branches if branch.spawn == number],
            "joins": [branch.name for branch in branches if branch.join == number],
            "after": [list(turn) for turn in graph.after[stream.name, number]],
        }
        before = call


def _delay_ms(before: Call, call: Call) -> float:
    """From the recorded end of the turn before; the reference's order of operations."""
    gap_ms = call.start_s * 1000.0 - before.start_s * 1000.0
    return max(0.0, gap_ms - (0.0 if before.api_s is None else before.api_s * 1000.0))
