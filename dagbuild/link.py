"""The room's one function: a session in, the same session with its edges out. Pure and repeatable.

Existing edges are not looked at: they are a conclusion, and conclusions are drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from corpus.session import Edge, EdgeKind, Session
from dagbuild.asides import aside_edges
from dagbuild.beside import beside_edges
from dagbuild.children import child_edges
from dagbuild.evidence import stronger
from dagbuild.sequence import sequence_edges
from dagbuild.streams import split_streams


def link_session(session: Session) -> Session:
    """The session with its edges, sorted by (dst, src, kind).

    Promises: `src < dst` for every edge, hence no cycle; delays are never negative; at most one edge of a kind between
    two requests, with the strongest evidence found for it.
    """
    streams = split_streams(session)
    rules = (sequence_edges, child_edges, beside_edges, aside_edges)
    edges = merge_edges(edge for rule in rules for edge in rule(streams))
    assert all(edge.src < edge.dst and edge.delay_us >= 0 for edge in edges)
    return replace(session, edges=edges)


def merge_edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    merged: dict[tuple[int, int, EdgeKind], Edge] = {}
    for edge in edges:
        key = (edge.dst, edge.src, edge.kind)
        known = merged.get(key)
        merged[key] = edge if known is None else replace(known, evidence=stronger(known.evidence, edge.evidence))
    return tuple(merged[key] for key in sorted(merged))
