"""Codex threads that name no session but their own, attached to the session they most likely serve.

A title thread and a memory thread have a session id of their own and no parent; all they share with the conversation is
the installation they come from. They are sent beside it within seconds, so the installation's conversation that was
heard last is taken, and the exchange says that this was guessed. Its own thread stays the agent.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from corpus.exchange import Identity, Purpose
from proxy.heard import Heard

# A title is asked for with the first turn, memories are put together when a client starts; a model may think long.
NEAR_US: Final = 600_000_000
REMEMBERED: Final = 4096

_BESIDE: Final[frozenset[Purpose]] = frozenset({"title", "memory"})
_SOURCES: Final = ("turn:installation_id", "flat:x-codex-installation-id")


@dataclass(frozen=True, slots=True)
class _Latest:
    session_id: str
    t_us: int


class Installations:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._latest: OrderedDict[str, _Latest] = OrderedDict()  # by installation id, which stays in this process

    def attach(self, heard: Heard, identity: Identity, t_us: int) -> Identity:
        """`identity` as it is, or with the session of the conversation that it was heard beside."""
        installation = heard.first(_SOURCES)
        if installation is None or identity.session_id is None:
            return identity
        if not _serves_another(heard, identity):
            self._latest[installation] = _Latest(identity.session_id, t_us)
            self._latest.move_to_end(installation)
            if len(self._latest) > self._remembered:
                self._latest.popitem(last=False)
            return identity
        latest = self._latest.get(installation)
        if latest is None or t_us - latest.t_us > NEAR_US or latest.session_id == identity.session_id:
            return identity
        return replace(
            identity,
            session_id=latest.session_id,
            agent_id=identity.agent_id or identity.session_id,
            parent_agent_id=None,
            agent_kind="side",
            session_guessed=True,
        )


def _serves_another(heard: Heard, identity: Identity) -> bool:
    """Handshakes of such threads count, whatever their purpose."""
    source = heard.turn("thread_source")
    return identity.purpose in _BESIDE or source.startswith("memory") or source == "thread_title"
