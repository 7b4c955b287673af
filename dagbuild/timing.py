"""How often time stamps alone would have been wrong about who started whom and who waited for whom.

The published method knows requests, agents and times: a child starts after its parent's most recent request and is
joined by the parent's first request after its end. That is what this room does without any call heard, so the same
session is linked again without its calls, and every spawn and join that was heard is looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from corpus.session import Edge, Evidence, Session
from dagbuild.link import link_session

_HEARD: Final[frozenset[Evidence]] = frozenset({"id", "tool_result", "notification", "agent_message"})
_KINDS: Final = ("spawn", "join")


class TimingReport:
    """Counts over the sessions that pass through `watch`."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def watch(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            self._counts.update(count_doubts(session))
            yield session

    def document(self) -> dict[str, Any]:
        """`spawns` and `joins` that were heard, and how many of them time alone would not have found."""
        return {name: self._counts[name] for kind in _KINDS for name in (f"{kind}s", f"{kind}s_wrong")}


def count_doubts(session: Session) -> Counter[str]:
    """Of a linked session. A join counts as found when time lets the same agent join the same request."""
    heard = [edge for edge in session.edges if edge.kind in _KINDS and edge.evidence in _HEARD]
    counts: Counter[str] = Counter()
    if not heard:
        return counts
    timed = link_session(replace(session, tool_calls=())).edges
    known = {_told(session, edge) for edge in timed if edge.kind in _KINDS}
    for edge in heard:
        counts[f"{edge.kind}s"] += 1
        counts[f"{edge.kind}s_wrong"] += _told(session, edge) not in known
    return counts


def _told(session: Session, edge: Edge) -> tuple[str, int, int]:
    """What an edge says: which request starts which, or which agent's work goes into which request."""
    return edge.kind, edge.src if edge.kind == "spawn" else session.requests[edge.src].agent, edge.dst
