from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from agentreel.source import find_session, read_source, source_card
from corpus.errors import InputError
from corpus.formats.weka import write_weka
from corpus.tables import read_corpus


def test_a_corpus_is_read_with_the_edges_it_brings(chain: Any) -> None:
    assert list(read_source(str(chain.corpus))) == list(read_corpus(chain.corpus))
    card = source_card(str(chain.corpus))
    assert card is not None
    assert card.tokenizer == "deepseek-v4"


def test_a_weka_trace_gets_edges_by_time(chain: Any, tmp_path: Path) -> None:
    write_weka(tmp_path / "traces.jsonl", read_corpus(chain.corpus))
    sessions = list(read_source(str(tmp_path / "traces.jsonl")))
    assert {e.evidence for s in sessions for e in s.edges if e.kind in ("spawn", "join")} == {"timing"}
    assert source_card(str(tmp_path / "traces.jsonl")) is None


MOONCAKE = {"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
TURN = {"session_id": "a", **MOONCAKE}
BAILIAN = {"chat_id": 1, "parent_chat_id": -1, "timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [1]}
DAG = {"session_id": "a", "turns": [{"messages": [{"role": "user", "content": "hi"}]}]}
WEKA = {
    "id": "a",
    "models": ["m"],
    "block_size": 64,
    "hash_id_scope": "local",
    "requests": [{"t": 0, "type": "n", "model": "m", "in": 64, "out": 1, "hash_ids": [0]}],
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize(
    ("row", "told"),
    [
        (MOONCAKE, ("mooncake", "plain")),
        (TURN, ("mooncake", "sessions")),
        ({**TURN, "request_id": "x"}, ("mooncake", "agentic")),
        (BAILIAN, ("bailian", None)),
        (DAG, ("dag_jsonl", None)),
        (WEKA, ("weka", "semianalysis")),
    ],
)
def test_a_format_is_told_by_its_first_line(tmp_path: Path, pack: Any, row: Any, told: tuple[str, str]) -> None:
    path = tmp_path / ("trace.jsonl" if pack is bytes else "trace.jsonl.gz")
    path.write_bytes(pack(orjson.dumps(row)))
    (session,) = read_source(str(path))
    assert (session.source_format, session.source_dialect) == told


@pytest.mark.parametrize(
    ("prefix", "row", "told"),
    [
        ("mooncake-delta", TURN, "delta"),
        ("mooncake-plain", TURN, "plain"),
        ("mooncake", TURN, "sessions"),
        ("weka-kv-cache-tester", WEKA, "kv-cache-tester"),
        ("weka-aiperf", WEKA, "aiperf"),
        ("weka", WEKA, "semianalysis"),
    ],
)
def test_a_dialect_may_be_named(tmp_path: Path, prefix: str, row: Any, told: str) -> None:
    (tmp_path / "trace.jsonl").write_bytes(orjson.dumps(row))
    (session,) = read_source(f"{prefix}:{tmp_path}/trace.jsonl")
    assert session.source_dialect == told


def test_a_file_whose_name_looks_like_a_prefix_is_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weka:trace.jsonl").write_bytes(orjson.dumps(MOONCAKE))
    (session,) = read_source("weka:trace.jsonl")
    assert session.source_format == "mooncake"


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.csv", b"TIMESTAMP,ContextTokens\n", "is in no known trace format; agentreel reads"),
        (
            "a.jsonl",
            b'{"provider": "claude", "project": 1}\n',
            r"is in no known trace format \(keys: provider, project\)",
        ),
        ("a.json", b'{\n"spans": []\n}', r"is in no known trace format \(keys: spans\)"),
        ("a.jsonl", b"", "is empty or cannot be read"),
        ("a.jsonl", b'{"id": "x"', "is broken JSON"),
        ("a.jsonl.gz", b"\x1f\x8b\x08\x00broken", "is empty or cannot be read"),
    ],
)
def test_files_of_no_format_say_what_they_hold(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        list(read_source(str(tmp_path / name)))


def test_sessions_are_found_by_number_and_label(chain: Any) -> None:
    assert find_session(str(chain.corpus), "2") == find_session(str(chain.corpus), "session-2")
    with pytest.raises(InputError, match="has no session 'x'"):
        find_session(str(chain.corpus), "x")


@pytest.mark.parametrize("name", ["absent", "folder"])
def test_what_is_no_source_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=name):
        list(read_source(str(tmp_path / name)))
