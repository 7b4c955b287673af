"""Bytes a request of a corpus on disk, all five tables and the card, for real sessions: the WEKA traces.

As imported, as linked (edges written too), and as published (the public column applied).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from anonymize.public import public_session
from corpus.card import Card
from corpus.formats.weka import read_weka
from corpus.session import Session
from corpus.tables import write_corpus
from dagbuild.link import link_session

TRACES: Final = Path(__file__).resolve().parents[2] / "shared" / "traces" / "weka"
TARGET_BYTES: Final = 40


def bytes_a_request(sessions: Sequence[Session]) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "corpus"
        card = write_corpus(folder, sessions, Card("agentreel bench"))
        return sum(path.stat().st_size for path in folder.iterdir()) / card.counts["requests"]


def main() -> None:
    if not TRACES.is_dir():
        print(json.dumps({"bench": "corpus_size", "skipped": "no WEKA traces beside the repository"}))
        return
    imported = list(read_weka(TRACES))
    linked = [link_session(session) for session in imported]
    sizes = {
        "imported": bytes_a_request(imported),
        "linked": bytes_a_request(linked),
        "published": bytes_a_request([public_session(session) for session in linked]),
    }
    line = {
        "bench": "corpus_size",
        "sessions": len(imported),
        "requests": sum(len(session.requests) for session in imported),
        "bytes_a_request": {name: round(size, 1) for name, size in sizes.items()},
        "target": f"each <= {TARGET_BYTES}",
        "ok": max(sizes.values()) <= TARGET_BYTES,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
