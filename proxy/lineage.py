"""Sub-agents that are sessions of their own, brought under the session that started them all.

OpenCode's child names its own session and its parent's, never the root's. A parent spoke before its child did, so the
root is known by then; a parent that was not heard is taken for it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from corpus.exchange import Identity
from proxy.heard import Heard

REMEMBERED: Final = 65536

_PARENT: Final = "x-parent-session-id"


class Lineage:
    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._roots: OrderedDict[str, str] = OrderedDict()  # session of a child -> session of its root

    def attach(self, heard: Heard, identity: Identity) -> Identity:
        """`identity` as it is, or as an agent of its root's session."""
        parent, own = heard.header(_PARENT), identity.session_id
        if not parent or own is None or parent == own or identity.agent_id is not None:
            return identity
        root = self._roots.get(parent, parent)
        self._roots[own] = root
        self._roots.move_to_end(own)
        if len(self._roots) > self._remembered:
            self._roots.popitem(last=False)
        above = None if parent == root else parent
        return replace(identity, session_id=root, agent_id=own, parent_agent_id=above, agent_kind="subagent")
