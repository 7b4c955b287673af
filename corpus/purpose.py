"""What each purpose makes a request to its conversation: one table, for graphs, replays, statistics and drawings."""

from __future__ import annotations

from typing import Final, Literal

from corpus.exchange import Purpose

Part = Literal["stream", "leaf", "returns"]

# What a request is to its conversation: a step of the stream, an aside that nobody waits for (leaf), or an aside whose
# answer the conversation needs before its next step (returns).
PARTS: Final[dict[Purpose, Part]] = {
    "turn": "stream",
    "compaction": "stream",
    "review": "stream",
    "other": "stream",  # unknown: keeping the order is the careful guess
    "title": "leaf",
    "side_question": "leaf",
    "memory": "leaf",
    "count_tokens": "leaf",
    "probe": "leaf",
    "prewarm": "returns",  # the first step reuses the connection's state
    "classifier": "returns",  # runs while the tool call waits for permission
    "guardian": "returns",  # likewise
    "web_search": "returns",  # its answer becomes a tool result
    "web_fetch": "returns",  # likewise
    "hook": "returns",  # its verdict decides how the turn goes on
}

STEPS: Final = frozenset(purpose for purpose, part in PARTS.items() if part == "stream")
