"""What a recorder can tell about itself while it runs: counts per session, without a word of content.

Kept by the scribe, which alone knows whose a record is; read by the status page from another thread.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from corpus.exchange import RequestRecord, ResponseRecord

SESSIONS_KEPT: Final = 500


@dataclass(slots=True)
class SessionCount:
    """One session as this recorder heard it; `open` exchanges have no response yet."""

    session_id: str | None
    harness: str | None = None
    model: str | None = None
    agents: set[str] = field(default_factory=set)  # besides the main agent
    requests: int = 0
    open: int = 0
    bytes: int = 0
    t_first_us: int = 0
    t_last_us: int = 0


class Tally:
    """The sessions heard last, up to a number; the longest silent go first."""

    def __init__(self, sessions_kept: int = SESSIONS_KEPT) -> None:
        self._sessions: OrderedDict[str | None, SessionCount] = OrderedDict()
        self._sessions_kept = sessions_kept
        self._lock = threading.Lock()

    def heard_request(self, record: RequestRecord) -> None:
        who = record.identity
        with self._lock:
            count = self._session(who.session_id, record.t_request_us)
            count.harness = who.harness or count.harness
            count.model = who.model or count.model
            if who.agent_id is not None:
                count.agents.add(who.agent_id)
            count.requests += 1
            count.open += 1
            count.bytes += record.body_bytes

    def heard_response(self, session_id: str | None, record: ResponseRecord) -> None:
        with self._lock:
            count = self._session(session_id, record.t_end_us)
            count.open = max(0, count.open - 1)
            count.bytes += record.body_bytes

    def sessions(self) -> list[SessionCount]:
        """Copies, longest silent first."""
        with self._lock:
            return [
                SessionCount(
                    *(count.session_id, count.harness, count.model, set(count.agents), count.requests),
                    *(count.open, count.bytes, count.t_first_us, count.t_last_us),
                )
                for count in self._sessions.values()
            ]

    def _session(self, session_id: str | None, t_us: int) -> SessionCount:
        count = self._sessions.setdefault(session_id, SessionCount(session_id, t_first_us=t_us))
        self._sessions.move_to_end(session_id)
        count.t_last_us = max(count.t_last_us, t_us)
        while len(self._sessions) > self._sessions_kept:
            self._sessions.popitem(last=False)
        return count
