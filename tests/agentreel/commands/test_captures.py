from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentreel.__main__ import main
from corpus.capture.reader import open_captures

Call = Callable[..., Any]
KEYS = {
    *("exchange_id", "session_id", "agent_id", "parent_agent_id", "agent_kind", "api", "method", "path", "model"),
    *("stream", "status", "end", "t_request_us", "t_headers_us", "t_first_byte_us", "t_end_us"),
    *("request_bytes", "response_bytes", "usage", "retry_of", "purpose"),
}


def rows(agentreel: Call, chain: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in agentreel("captures", "ls", chain.captures, "--json").out.splitlines()]


def test_ls_prints_one_object_a_line_by_request_start(agentreel: Call, chain: Any) -> None:
    listed = rows(agentreel, chain)
    assert {frozenset(row) for row in listed} == {frozenset(KEYS)}
    starts = [row["t_request_us"] for row in listed]
    assert starts == sorted(starts)
    assert all(
        row["t_request_us"] <= row["t_first_byte_us"] <= row["t_end_us"] for row in listed if row["response_bytes"]
    )


def test_usage_of_a_turn_is_whole_and_of_a_probe_unknown(agentreel: Call, chain: Any) -> None:
    by_purpose = {row["purpose"]: row["usage"] for row in rows(agentreel, chain) if row["end"] == "complete"}
    assert by_purpose["turn"]["input_tokens"] >= by_purpose["turn"]["cache_read_tokens"]
    assert set(by_purpose["probe"].values()) == {None}


def test_a_retry_names_the_attempt_it_repeats(agentreel: Call, chain: Any) -> None:
    listed = {row["exchange_id"]: row for row in rows(agentreel, chain)}
    retries = [row for row in listed.values() if row["retry_of"]]
    assert retries
    for row in retries:
        assert listed[row["retry_of"]]["request_bytes"] == row["request_bytes"]
        assert listed[row["retry_of"]]["end"] != "complete" or listed[row["retry_of"]]["status"] >= 400


def test_the_table_has_a_line_for_every_exchange(agentreel: Call, chain: Any) -> None:
    said = agentreel("captures", "ls", chain.captures)
    assert said.code == 0
    assert len(said.out.splitlines()) == len(rows(agentreel, chain)) + 1


def test_body_writes_the_bytes_that_were_on_the_wire(chain: Any, capfdbinary: Any) -> None:
    exchange = next(e for e in open_captures(chain.captures).exchanges() if e.request.body)
    assert exchange.response is not None
    for part, body in (("--request", exchange.request.body), ("--response", exchange.response.body)):
        with pytest.raises(SystemExit, match="0"):
            main(["captures", "body", str(chain.captures), exchange.request.exchange_id, part])
        assert capfdbinary.readouterr().out == body


def test_an_unknown_exchange_is_one_line(agentreel: Call, chain: Any) -> None:
    said = agentreel("captures", "body", chain.captures, "nope", "--request")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "no exchange 'nope'" in said.err


def test_a_damaged_segment_is_listed_and_the_rest_is_read(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    copy = tmp_path / "captures"
    shutil.copytree(chain.captures, copy)
    whole = len(rows(agentreel, chain))
    segment = max((p for p in copy.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    segment.write_bytes(segment.read_bytes()[:-100])
    said = agentreel("captures", "ls", copy, "--json")
    assert said.code == 3
    assert said.err.startswith("damaged: ")
    assert whole - 2 <= len(said.out.splitlines()) <= whole
