"""A Mooncake row from a request and back to the file's own row: what both directions must agree on."""

from __future__ import annotations

from typing import Any, Final

from corpus.errors import InputError
from corpus.formats.conversations import Row

# Where a row may hold what was said, as text or as tokens.
_SAID: Final = ("text_input", "messages", "tools", "payload", "output_token_ids")


def refuse_text(value: object, where: str) -> None:
    """InputError for a row with text, lengths beside it or not: what a row says beyond them is kept as it is."""
    said = [key for key in _SAID if isinstance(value, dict) and value.get(key) is not None]
    if said:
        hint = "give input_length and hash_ids alone, or conversations of text as dag_jsonl"
        raise InputError(f"{where}: {said[0]}", "is text, which no corpus keeps", hint)


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
