"""A Mooncake row from a request and back to the file's own row: what both directions must agree on."""

from __future__ import annotations

from typing import Any

from corpus.formats.conversations import Row


def session_row(row: Row, before: Row | None, size: int) -> dict[str, Any]:
    """The row as a line; with `before`, the turn it goes on from, only what is new since that turn and its answer."""
    tokens, ids = row.input_tokens, list(row.ids)
    if before is not None:
        tokens = max(0, tokens - before.input_tokens - (before.output_tokens or 0))
        ids = ids[len(ids) - min(len(ids), -(-tokens // size)) :]
    return {
        **({} if row.conversation is None else {"session_id": row.conversation}),
        "timestamp": to_ms(row.start_us),
        "input_length": tokens,
        "output_length": row.output_tokens,
        "hash_ids": ids,
    }


def to_us(milliseconds: float) -> int:
    return round(milliseconds * 1000)


def to_ms(us: int) -> int | float:
    return us // 1000 if us % 1000 == 0 else us / 1000
