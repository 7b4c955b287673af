from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from corpus.errors import InputError
from corpus.formats.dag_jsonl import is_dag_jsonl, read_dag_jsonl, write_dag_jsonl
from corpus.formats.trace_rows import Written, answered_part
from corpus.graph import topological_order
from corpus.session import Session
from corpus.soundness import find_flaw
from tests.corpus.formats.sessions import dump, make_session, sessions

Json = dict[str, Any]


@settings(max_examples=40)
@given(sessions())
def test_exported_sessions_come_back_with_their_answers_and_at_least_their_prompts(
    tmp_path_factory: pytest.TempPathFactory, session: Session
) -> None:
    path = tmp_path_factory.mktemp("export") / "out.jsonl"
    kept = answered_part(session)
    assert write_dag_jsonl(path, [session]) == Written(1, len(kept.requests), 0, 0)
    back = list(read_dag_jsonl(path))
    for found in back:
        assert find_flaw(found) is None
        topological_order(len(found.requests), found.edges)
    answers = sorted(r.output_tokens or 0 for found in back for r in found.requests)
    assert answers == sorted(r.output_tokens or 0 for r in kept.requests)
    ahead = sum(r.input_tokens for found in back for r in found.requests) - sum(r.input_tokens for r in kept.requests)
    assert 0 <= ahead <= sum(r.input_tokens for r in kept.requests) // 8 + len(kept.requests)


def test_words_are_counted_as_they_were_meant(tmp_path: Path) -> None:
    session = make_session([{"input_tokens": 1000, "output_tokens": 7}], [list(range(15))])
    write_dag_jsonl(tmp_path / "out.jsonl", [session])
    (back,) = read_dag_jsonl(tmp_path / "out.jsonl")
    assert [(r.input_tokens, r.output_tokens) for r in back.requests] == [(1000, 7)]


def test_packed_files_are_told_and_read(tmp_path: Path) -> None:
    path = dump(tmp_path / "a.jsonl", {"session_id": "a", "turns": [{"messages": [{"role": "user", "content": "hi"}]}]})
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert is_dag_jsonl(path)
    assert is_dag_jsonl(packed)
    assert list(read_dag_jsonl(packed)) == list(read_dag_jsonl(path))
    assert not is_dag_jsonl(dump(tmp_path / "b.jsonl", {"session_id": "a", "input_length": 1}))


def test_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no conversation"):
        list(read_dag_jsonl(dump(tmp_path / "a.jsonl")))
