from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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


def test_sessions_are_found_by_number_and_label(chain: Any) -> None:
    assert find_session(str(chain.corpus), "2") == find_session(str(chain.corpus), "session-2")
    with pytest.raises(InputError, match="has no session 'x'"):
        find_session(str(chain.corpus), "x")


@pytest.mark.parametrize("name", ["absent", "folder"])
def test_what_is_no_source_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=name):
        list(read_source(str(tmp_path / name)))
