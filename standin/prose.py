"""Filler that looks like what agents read and write: prose, code, logs, JSON; a pure function of its seed.

All text of the stand-ins comes from here, so nothing in a sample was written by a person or a real model. Lengths are
in characters and approximate (the last line or sentence is completed).
"""

from __future__ import annotations

import json
from random import Random
from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NOUNS: Final = _words(
    "ledger parser queue shard cursor beacon socket packet folder worker lease ticket schema thread anchor bucket"
    " kernel mirror harbor signal channel lantern orchard bridge marker pocket window basket canyon meadow"
)
_VERBS: Final = _words(
    "reads writes splits joins keeps drops counts checks sorts merges opens closes renames measures replays guards"
)
_QUALITIES: Final = _words(
    "small steady late early narrow quiet stable brittle shared local remote pending stale fresh plain loud"
)
_LEVELS: Final = ("INFO", "INFO", "INFO", "DEBUG", "WARN")
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def chance(*seed: object) -> Random:
    """A generator that depends on the seed's text only."""
    return Random("/".join(str(part) for part in seed))  # noqa: S311 - filler, nothing secret


def token(length: int, *seed: object, alphabet: str = _BASE62) -> str:
    """A made-up identifier of `length` characters."""
    return "".join(chance("token", *seed).choices(alphabet, k=length))


def prose(chars: int, *seed: object) -> str:
    dice, out, length = chance("prose", *seed), [], 0
    while length < chars:
        sentence = _sentence(dice) + ("\n\n" if dice.random() < 0.12 else " ")
        out.append(sentence)
        length += len(sentence)
    return "".join(out).strip()


def title(*seed: object) -> str:
    dice = chance("title", *seed)
    return f"{dice.choice(_QUALITIES)} {dice.choice(_NOUNS)} {dice.choice(_NOUNS)}".capitalize()


def source_code(chars: int, *seed: object) -> str:
    dice, out, length = chance("code", *seed), [], 0
    while length < chars:
        piece = _function(dice)
        out.append(piece)
        length += len(piece)
    return "\n\n".join(out)


def log_lines(chars: int, *seed: object) -> str:
    dice, out, length, clock = chance("log", *seed), [], 0, 36_000_000
    while length < chars:
        clock += dice.randrange(3, 900)
        seconds, millis = divmod(clock, 1000)
        stamp = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"
        line = f"{stamp} {dice.choice(_LEVELS):5} {dice.choice(_NOUNS)}.{dice.choice(_NOUNS)} {_clause(dice)}"
        out.append(f"{line} n={dice.randrange(10_000)} ms={dice.random() * 90:.2f}")
        length += len(out[-1]) + 1
    return "\n".join(out)


def records(chars: int, *seed: object) -> str:
    """A JSON document, indented."""
    dice = chance("records", *seed)
    rows = [_record(dice, n) for n in range(max(1, chars // 190))]
    return json.dumps({"total": len(rows), "rows": rows}, indent=2)


def file_name(*seed: object) -> str:
    dice = chance("file", *seed)
    return f"{dice.choice(_NOUNS)}/{dice.choice(_NOUNS)}_{dice.choice(_NOUNS)}.py"


def _sentence(dice: Random) -> str:
    text = _clause(dice).capitalize()
    if dice.random() < 0.6:
        text += dice.choice((", and ", ", because ", ", while ", ", so ")) + _clause(dice)
    return text + "."


def _clause(dice: Random) -> str:
    subject = f"the {dice.choice(_QUALITIES)} {dice.choice(_NOUNS)}"
    return f"{subject} {dice.choice(_VERBS)} {dice.randrange(2, 60)} {dice.choice(_NOUNS)}s"


def _function(dice: Random) -> str:
    one, two, three = dice.sample(_NOUNS, 3)
    lines = [f"def {dice.choice(_VERBS)}_{one}({two}: list[int], {three}: int = {dice.randrange(2, 99)}) -> int:"]
    lines.append(f'    """{_sentence(dice)}"""')
    for _ in range(dice.randrange(2, 6)):
        verb, noun = dice.choice(_VERBS), dice.choice(_NOUNS)
        lines.append(f"    {noun} = {verb}({two}, {three} {dice.choice('+-*')} {dice.randrange(1, 500)})")
        if dice.random() < 0.4:
            lines.append(
                f"    if {noun} > {dice.randrange(1000)}:\n        {three} += {noun} % {dice.randrange(2, 17)}"
            )
    return "\n".join([*lines, f"    return {three}\n"])


def _record(dice: Random, number: int) -> dict[str, object]:
    return {
        "id": number,
        "name": f"{dice.choice(_QUALITIES)}-{dice.choice(_NOUNS)}",
        "state": dice.choice(_QUALITIES),
        "size": dice.randrange(100_000),
        "ratio": round(dice.random(), 4),
        "note": _clause(dice),
    }
