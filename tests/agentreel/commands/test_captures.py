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
    *("request_bytes", "response_bytes", "usage", "retry_of", "purpose", "previous", "session_guessed"),
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
    segment = max(copy.glob("*.segment"), key=lambda p: p.stat().st_size)
    segment.write_bytes(segment.read_bytes()[:-100])
    said = agentreel("captures", "ls", copy, "--json")
    assert said.code == 3
    assert said.err.startswith("damaged: ")
    assert whole - 2 <= len(said.out.splitlines()) <= whole


@pytest.fixture
def copy(chain: Any, tmp_path: Path) -> Path:
    path = tmp_path / "captures"
    shutil.copytree(chain.captures, path)
    return path


def test_verify_checks_everything_and_makes_the_index_anew(agentreel: Call, copy: Path) -> None:
    (copy / "index.sqlite").write_bytes(b"rubbish")
    found = json.loads(agentreel("captures", "verify", copy, "--json").out)
    assert found["ok"]
    assert found["exchanges"] == len(agentreel("captures", "ls", copy, "--json").out.splitlines())
    assert (copy / "index.sqlite").read_bytes().startswith(b"SQLite format 3")
    assert "every checksum read" in agentreel("captures", "verify", copy).out


def test_verify_tells_damage_and_exits_with_3(agentreel: Call, copy: Path) -> None:
    segment = max(copy.glob("*.segment"), key=lambda path: path.stat().st_size)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    said = agentreel("captures", "verify", copy, "--json")
    assert (said.code, json.loads(said.out)["ok"]) == (3, False)
    assert said.err.startswith("damaged: ")


def test_prune_deletes_a_session_and_leaves_the_others(agentreel: Call, chain: Any, copy: Path) -> None:
    before = rows(agentreel, chain)
    doomed = next(row["session_id"] for row in before if row["session_id"])
    number = sum(row["session_id"] == doomed for row in before)
    assert json.loads(agentreel("captures", "prune", copy, "--session", doomed, "--dry-run", "--json").out) == {
        "exchanges": number,
        "files_removed": 0,
        "files_rewritten": 0,
        "bytes_freed": 0,
        "damage_lost": 0,
        "dry_run": True,
    }
    agentreel("captures", "prune", copy, "--session", doomed)
    left = [json.loads(line) for line in agentreel("captures", "ls", copy, "--json").out.splitlines()]
    assert left == [row for row in before if row["session_id"] != doomed]


def test_prune_by_age_keeps_what_was_heard_lately(agentreel: Call, copy: Path) -> None:
    assert "0 exchanges deleted" in agentreel("captures", "prune", copy, "--older-than", "1d").out
    assert agentreel("captures", "prune", copy, "--older-than", "0m").code == 0
    assert agentreel("captures", "ls", copy, "--json").out == ""


def test_prune_wants_to_be_told_what(agentreel: Call, copy: Path) -> None:
    assert agentreel("captures", "prune", copy).code == 2
    said = agentreel("captures", "prune", copy, "--older-than", "soon")
    assert (said.code, said.err.count("\n")) == (1, 1)


def test_export_writes_every_exchange_in_both_forms(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    before = rows(agentreel, chain)
    out = tmp_path / "all.har"
    assert agentreel("captures", "export", chain.captures, "--har", "-o", out).code == 0
    assert out.stat().st_mode & 0o777 == 0o600
    entries = json.loads(out.read_text())["log"]["entries"]
    assert [entry["_agentreel"]["exchange_id"] for entry in entries] == [row["exchange_id"] for row in before]
    lines = tmp_path / "all.jsonl"
    assert agentreel("captures", "export", chain.captures, "--jsonl", "-o", lines).code == 0
    exported = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [{key: row[key] for key in KEYS} for row in exported] == before
    assert any("messages" in row.get("request_body", "") for row in exported)
    assert agentreel("captures", "export", chain.captures, "--har", "-o", out).code == 1
