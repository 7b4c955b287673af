"""Words between rooms: the records, their files and formats, block and graph arithmetic, tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corpus.notebook import CorpusTables

__all__ = ["open"]


def open(path: str | Path) -> CorpusTables:  # noqa: A001 (`corpus.open(...)` is how a notebook reads it)
    """The tables of a corpus for Arrow and pandas: `corpus.open("corpus/").frame("requests")`."""
    from corpus.notebook import open_corpus  # Arrow takes long to import; nobody else should wait for it

    return open_corpus(path)
