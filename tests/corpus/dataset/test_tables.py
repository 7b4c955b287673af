from __future__ import annotations

import orjson

from corpus.blocks import expand_blocks
from corpus.dataset.tables import CONFIGS, request_rows, session_rows, weka_rows
from corpus.formats.weka import session_from_weka
from corpus.session import Session


def test_every_row_has_exactly_the_columns_of_its_config(captured: Session) -> None:
    for config in CONFIGS.values():
        for row in config.rows(captured, "v1"):
            assert row.keys() == {column.name for column in config.columns}
            for column in config.columns:
                assert column.nullable or row[column.name] is not None


def test_a_requests_row_holds_its_whole_prompt_and_what_it_waits_for(captured: Session) -> None:
    rows = list(request_rows(captured, "v1"))
    prompts = expand_blocks([request.blocks for request in captured.requests])
    assert [row["hash_ids"].tolist() for row in rows] == [ids.tolist() for ids in prompts]
    waits = [(wait["request"], row["request"], wait["kind"]) for row in rows for wait in row["waits_for"]]
    assert sorted(waits) == sorted((edge.src, edge.dst, edge.kind) for edge in captured.edges)
    for row in rows:
        assert sum(segment["tokens"] for segment in row["segments"]) == row["input_tokens"]
        assert row["model"] == captured.models[captured.requests[row["request"]].model]


def test_a_sessions_row_sums_its_requests(captured: Session) -> None:
    (row,) = session_rows(captured, "v1")
    requests = list(request_rows(captured, "v1"))
    assert row["requests"] == len(requests)
    assert row["input_tokens"] == sum(one["input_tokens"] for one in requests)
    assert row["repeated_tokens"] == sum(one["repeated_tokens"] for one in requests)
    assert 0 < row["repeated_tokens"] < row["input_tokens"]
    assert row["spawns"] == sum(edge.kind == "spawn" for edge in captured.edges)


def test_a_weka_row_is_a_trace_that_our_own_reader_takes(captured: Session) -> None:
    (row,) = weka_rows(captured, "v1")
    trace = row | {"requests": [orjson.loads(one) for one in row["requests"]], "totals": orjson.loads(row["totals"])}
    session = session_from_weka(trace, "row 0", 0)
    assert session.label == captured.label
    assert max(request.input_tokens for request in session.requests) == 400


def test_a_trace_that_came_without_sums_has_none() -> None:
    entry = {"t": 0.0, "type": "n", "model": "m", "in": 64, "out": 1, "hash_ids": [1]}
    trace = {"id": "t", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [entry]}
    (row,) = weka_rows(session_from_weka(trace, "t", 0), "2026-11-29")
    assert row["totals"] == "{}"
