"""Small captures, and building a corpus of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentreel.building import BuildSettings, build_corpus
from agentreel.workers import InThisProcess, Runner
from corpus.capture.reader import Captures, open_captures
from corpus.capture.writer import CaptureWriter
from corpus.exchange import Exchange, Identity
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, user

SETTINGS = BuildSettings("deepseek-v4", block_size=64, max_input_tokens=990_000, keep_aux=False)

US = "agentreel 0.1.0"


def record(path: Path, exchanges: Sequence[Exchange]) -> Captures:
    writer = CaptureWriter(path, "w0")
    for one in exchanges:
        writer.write_request(one.request)
        if one.response is not None:
            writer.write_response(one.request.identity.session_id, one.response)
    writer.close()
    return open_captures(path)


def talk(session: str, at_s: float, words: int = 200) -> list[Exchange]:
    """Two turns of a session."""
    said = " ".join(f"{session}{n}" for n in range(words))
    who = Identity(session_id=session, purpose="turn", harness="claude-code", harness_version="2.1.328")
    answer = claude_answer({"type": "text", "text": "done"})
    return [
        exchange(at_s, claude_body([user(said)]), answer, identity=who),
        exchange(
            at_s + 2,
            claude_body([user(said), {"role": "assistant", "content": "done"}, user("on")]),
            answer,
            identity=who,
        ),
    ]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def built(captures: Captures, target: Path, runner: Runner | None = None, **changed: Any) -> dict[str, bytes]:
    build_corpus(captures, target, replace(SETTINGS, **changed), runner or InThisProcess(), created_by=US)
    return bytes_of(target)
