"""Searching for what must not be there: a word in every disguise, in every file, Parquet columns unpacked.

Everything is compared in lower case, so a disguise counts whatever its case.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

SHORTEST = 10  # characters; shorter words turn up by chance


def disguises(word: str) -> dict[str, bytes]:
    """The word and its encodings, by name of the encoding; in lower case."""
    plain = word.encode()
    made = {
        "plain": plain,
        "reversed": plain[::-1],
        "hex": plain.hex().encode(),
        "utf-16-le": word.encode("utf-16-le"),
        "utf-16-be": word.encode("utf-16-be"),
    }
    for shift in range(3):
        # characters that depend on the word's neighbours are cut off
        text = base64.b64encode(b"\0" * shift + plain)
        made[f"base64+{shift}"] = text[(0, 2, 3)[shift] : len(text) - (0, 4, 3)[(len(plain) + shift) % 3]]
    return {name: data.lower() for name, data in made.items()}


def find_words(words: Iterable[str], places: Iterable[tuple[str, bytes]]) -> list[str]:
    """ "place: word (disguise)" for everything found; `places` are names with their bytes."""
    wanted = [(word, disguises(word)) for word in words]
    assert all(len(word) >= SHORTEST for word, _ in wanted)
    return [
        f"{place}: {word} ({name})"
        for place, data in places
        for lowered in [data.lower()]
        for word, forms in wanted
        for name, form in forms.items()
        if form in lowered
    ]


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below `folder`: its name, its bytes, and a Parquet file's metadata and values unpacked."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = str(path.relative_to(folder))
        yield f"name of {place}", place.encode()
        yield place, path.read_bytes()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            yield f"{place} schema", repr((table.schema.metadata, str(table.schema))).encode()
            for name in table.column_names:
                yield f"{place} column {name}", repr(table.column(name).to_pylist()).encode()
