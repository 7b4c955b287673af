"""What goes with a prompt: who asks, where it shall be computed, and hints; as headers and body fields of the engine.

Every stream of a play is a session of its own to a router, with the stream that started it as its parent, so a
sub-agent does not pile onto its parent's worker by name. Hints are given only when asked for, by name; those for which
an engine documents no field go as `x-agentreel-` headers, for routers of your own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from corpus.errors import InputError
from corpus.session import Session
from replay.commands import Send
from replay.engines import Engine, forcing_fields, set_field
from replay.foresight import LOW_REUSE, Foresight, foresee

# name -> what it tells
HINTS: Final[Mapping[str, str]] = {
    "pin": "the prompt comes again after so many milliseconds (a tool is running): keep it",
    "prefetch": "a sub-agent will begin with this prompt after so many milliseconds",
    "demote": "the sub-agent is done with this request: what it cached is not needed any more",
    "apart": "little of the prompt was computed before: no worker is better than another",
    "priority": "nobody waits for the answer: everything else goes first",
    "length": "how many tokens the answer will have",
}


class Addressing:
    """The address of every request of a run; the same for the same seed."""

    def __init__(
        self,
        engine: Engine,
        endpoint: str,
        sessions: Mapping[int, Session],
        *,
        seed: int,
        hints: frozenset[str] = frozenset(),
        ranks: int = 0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        check_addressing(engine, hints, ranks)
        self._engine = engine
        self._endpoint = endpoint
        self._sessions = sessions
        self._seed = seed
        self._hints = hints
        self._ranks = ranks
        self._extra = extra or {}
        self._foreseen: dict[int, dict[int, Foresight]] = {}  # by session; small beside its plan

    def headers(self, send: Send) -> dict[str, str]:
        engine, seen = self._engine, self._foresee(send)
        headers = {}
        if engine.session_header:
            alone = "apart" in self._hints and seen.reuse < LOW_REUSE
            name = f"{seen.stream}-{send.request.request}" if alone else str(seen.stream)
            headers[engine.session_header] = self._session_id(send.play, name)
        if engine.parent_header and seen.parent is not None:
            headers[engine.parent_header] = self._session_id(send.play, str(seen.parent))
        if self._ranks and engine.rank_header:
            headers[engine.rank_header] = str(send.lane % self._ranks)
        told = self._told(send)
        if "demote" in told and engine.final_header:
            headers[engine.final_header] = "true"
        return headers | {f"x-agentreel-{name}": value for name, value in told.items()}

    def fields(self, send: Send) -> dict[str, Any]:
        """Of the body, with what the user adds to every one."""
        engine, told = self._engine, self._told(send)
        fields = {**self._extra, **forcing_fields(engine, self._endpoint, send.output_tokens)}
        if "prefetch" in told and engine.prefetch:
            set_field(fields, engine.prefetch, value=True)
        if "length" in told and engine.length:
            set_field(fields, engine.length, send.output_tokens)
        if "priority" in told and engine.background:
            set_field(fields, *engine.background)
        return fields

    def _session_id(self, play: int, stream: str) -> str:
        return f"agentreel-{self._seed}-{play}-{stream}"

    def _foresee(self, send: Send) -> Foresight:
        session = send.plan.session
        if session not in self._foreseen:
            self._foreseen[session] = foresee(send.plan, self._sessions[session], forks="prefetch" in self._hints)
        return self._foreseen[session][send.request.request]

    def _told(self, send: Send) -> dict[str, str]:
        """Hint -> its value, of those asked for that say something about this request."""
        if not self._hints:
            return {}
        seen = self._foresee(send)
        values = {
            "pin": None if seen.pause_us is None else str(seen.pause_us // 1000),
            "prefetch": None if seen.fork_us is None else str(seen.fork_us // 1000),
            "demote": "true" if seen.ends_child else None,
            "apart": "true" if seen.reuse < LOW_REUSE else None,
            "priority": "background" if seen.background else None,
            "length": str(send.output_tokens),
        }
        return {name: value for name, value in values.items() if value is not None and name in self._hints}


def trial_fields(
    engine: Engine, endpoint: str, hints: frozenset[str], extra: Mapping[str, Any], output_tokens: int
) -> dict[str, Any]:
    """Of a test request: all that a request of the run may have, so that a server that refuses it says so at once."""
    fields = {**extra, **forcing_fields(engine, endpoint, output_tokens)}
    for name, path, value in (
        ("prefetch", engine.prefetch, True),
        ("length", engine.length, output_tokens),
        ("priority", *(engine.background or (None, 0))),
    ):
        if name in hints and path:
            set_field(fields, path, value)
    return fields


def check_addressing(engine: Engine, hints: frozenset[str], ranks: int) -> None:
    """Raises InputError for a hint that is none, or ranks that the engine cannot be told."""
    for name in sorted(hints - HINTS.keys()):
        raise InputError("--hints", f"{name!r} is no hint", "give some of " + ",".join(HINTS))
    if ranks and engine.rank_header is None:
        raise InputError("--dp-ranks", f"{engine.title} has no header for a rank", "leave it out")
