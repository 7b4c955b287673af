from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from corpus.blocks import expand_blocks
from corpus.card import Card
from corpus.fingerprint import fingerprint_sessions
from corpus.formats.weka import read_weka, write_weka
from corpus.session import Attempt, Blocks, Request, Segments, Session
from corpus.tables import read_corpus, write_corpus
from wire.usage import Usage

# Another value for every field of a request
OTHER: dict[str, Any] = {
    "request": 70,
    "agent": 1,
    "position": 70,
    "purpose": "title",
    "api": "openai-chat",
    "stream": None,
    "model": 1,
    "t_start_us": 1,
    "t_first_us": None,
    "t_end_us": 9_999_999,
    "end": "timeout",
    "status": 500,
    "retry_of": 0,
    "stop": "",
    "input_kinds": (),
    "output_kinds": (),
    "input_tokens": 7,
    "output_tokens": 7,
    "usage": Usage(),
    "blocks": Blocks(0, 5, (12,), (1,)),
    "segments": Segments(3, ("user",), (70,)),
    "recorded_think_us": 0,
    "recorded_api_us": 0,
    "recorded_ttft_us": 0,
    "attempts": (Attempt(1, None, "unknown", None, repeated=False),),
}


@pytest.mark.parametrize("name", [field.name for field in fields(Request)])
def test_any_change_of_a_request_changes_it(captured: Session, name: str) -> None:
    *others, last = captured.requests
    assert getattr(last, name) != OTHER[name]
    changed = replace(captured, requests=(*others, replace(last, **{name: OTHER[name]})))
    assert fingerprint_sessions([changed]) != fingerprint_sessions([captured])


def test_any_other_delta_of_the_same_lists_counts_as_equal(captured: Session) -> None:
    lists = expand_blocks([request.blocks for request in captured.requests])
    full = [Blocks(-1, 0, tuple(ids.tolist()), (1,) * len(ids)) for ids in lists]
    bare = [replace(r, segments=None) for r in captured.requests]
    stored = [replace(request, blocks=blocks) for request, blocks in zip(bare, full, strict=True)]
    one, other = replace(captured, requests=tuple(bare)), replace(captured, requests=tuple(stored))
    assert one != other
    assert fingerprint_sessions([one]) == fingerprint_sessions([other])


def test_edges_tool_calls_agents_and_order_count(captured: Session) -> None:
    second = replace(captured, harness="codex")
    variants = [
        [captured],
        [replace(captured, edges=())],
        [replace(captured, tool_calls=())],
        [replace(captured, agents=(*captured.agents[:2], replace(captured.agents[2], parent=0)))],
        [captured, second],
        [second, captured],
        [],
    ]
    assert len({fingerprint_sessions(sessions) for sessions in variants}) == len(variants)


def test_number_of_a_session_does_not_count(captured: Session) -> None:
    assert fingerprint_sessions([replace(captured, session=5)]) == fingerprint_sessions([captured])


def test_trace_and_corpus_of_it_are_the_same(tmp_path: Path, synthetic_weka: Path, card: Card) -> None:
    from_files = fingerprint_sessions(read_weka(synthetic_weka))
    assert write_corpus(tmp_path / "corpus", read_weka(synthetic_weka), card).fingerprint == from_files
    assert fingerprint_sessions(read_corpus(tmp_path / "corpus")) == from_files
    write_weka(tmp_path / "lines.jsonl", read_corpus(tmp_path / "corpus"))
    assert fingerprint_sessions(read_weka(tmp_path / "lines.jsonl")) == from_files
