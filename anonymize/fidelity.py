"""How true a corpus's lengths are, as a table for the page of a dataset: read from what `calibrate` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson

from anonymize.words import public_model
from corpus.errors import InputError

# what a column is called, stage of the report, its number
_COLUMNS: Final = (
    ("median ratio, raw", "raw", "p50"),
    ("fitted, held out", "fitted", "p50"),
    ("p5", "fitted", "p5"),
    ("p95", "fitted", "p95"),
    ("within 5 %", "fitted", "within_5"),
    ("pinned, within 1 %", "pinned", "within_1"),
)


def fidelity_table(path: Path) -> str:
    """Markdown: a row a model, reconstructed over counted tokens. InputError when the file is no calibration."""
    try:
        report: dict[str, Any] = orjson.loads(path.read_bytes())["report"]
        rows = [_row(model, found) for model, found in report.items()]
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from error
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(path, "is no calibration", "make it with `agentreel calibrate CAPTURES -o FILE`") from error
    head = ["model", "requests", *(name for name, _, _ in _COLUMNS)]
    lines = [head, ["---"] * len(head), *rows]
    return (
        "Reconstructed over counted prompt tokens, on sessions that the fit had not seen; `pinned` has seen them.\n\n"
        + "\n".join(f"| {' | '.join(line)} |" for line in lines)
    )


def _row(model: str, found: dict[str, Any]) -> list[str]:
    numbers = [found.get(stage, {}).get(key) for _, stage, key in _COLUMNS]
    return [public_model(model) or "other", str(int(found["requests"])), *map(_number, numbers)]


def _number(value: Any) -> str:
    return "unknown" if value is None else f"{float(value):.3f}"
