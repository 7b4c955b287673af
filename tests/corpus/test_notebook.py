from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corpus
from corpus.errors import InputError
from corpus.notebook import TableName, open_corpus
from corpus.schemas import SCHEMAS
from corpus.tables import read_corpus

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "corpus"
NAMES: tuple[TableName, ...] = ("sessions", "agents", "requests", "tool_calls", "edges")


def test_every_table_comes_as_arrow_with_the_rows_the_card_counts() -> None:
    opened = corpus.open(str(SAMPLE))
    assert opened.card.tokenizer == "deepseek-v4"
    tables = (opened.sessions, opened.agents, opened.requests, opened.tool_calls, opened.edges)
    for name, table in zip(NAMES, tables, strict=True):
        assert table.schema.equals(SCHEMAS[name])
        assert table.num_rows == opened.card.counts[name]
        assert table.equals(opened.arrow(name))


def test_frames_hold_what_the_records_hold() -> None:
    (session,) = read_corpus(SAMPLE)
    frame = open_corpus(SAMPLE).frame("requests")
    assert frame["input_tokens"].tolist() == [request.input_tokens for request in session.requests]
    assert [tuple(runs) for runs in frame["run_len"]] == [request.blocks.run_len for request in session.requests]
    told = [request.usage.cache_read_tokens if request.usage else None for request in session.requests]
    assert [None if pd.isna(value) else value for value in frame["usage.cache_read_tokens"]] == told


def test_unknown_integers_stay_unknown_and_integers() -> None:
    opened = open_corpus(SAMPLE)
    agents, requests = opened.frame("agents"), opened.frame("requests")
    assert agents["parent"].dtype == pd.Int32Dtype()
    assert agents["parent"].isna().sum() == 1
    assert requests["recorded_think_us"].dtype == pd.Int64Dtype()
    assert requests["stream"].dtype == pd.BooleanDtype()


def test_what_is_no_corpus_or_damaged_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        corpus.open(tmp_path)
    copy = tmp_path / "copy"
    shutil.copytree(SAMPLE, copy)
    (copy / "edges.parquet").write_bytes(b"PAR1")
    (copy / "agents.parquet").unlink()
    pq.write_table(pa.table({"session": [1]}), copy / "sessions.parquet")
    opened = corpus.open(copy)
    for name in ("edges", "agents", "sessions"):
        with pytest.raises(InputError, match=rf"{name}\.parquet") as error:
            opened.arrow(name)
        assert "\n" not in str(error.value)
    assert opened.requests.num_rows > 0


def test_importing_the_room_does_not_import_arrow() -> None:
    code = "import sys, corpus; print([name for name in ('pyarrow', 'pandas') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
