"""Codex' headers, metadata and body, compared with recorded traffic where that is at hand."""

import json
import uuid
from pathlib import Path
from typing import Any

import orjson
import pytest

from standin import codex_wire
from standin.codex_items import ItemMaker
from standin.codex_wire import uuid7

RECORDED = Path(__file__).resolve().parents[2].parent / "shared" / "captures" / "codex"

ROOT = codex_wire.new_session("seed").at_turn(1)
CHILD = ROOT.child("alpha").at_turn(1)


def recorded(scenario: str) -> list[dict[str, Any]]:
    if not RECORDED.is_dir():
        pytest.skip("no recorded traffic at hand")
    return [json.loads(line) for line in (RECORDED / f"{scenario}.jsonl").read_text().splitlines()]


def recorded_requests() -> list[dict[str, Any]]:
    return [row for row in recorded("http_agents") if row["kind"] == "request"]


def names(headers: list[Any]) -> list[str]:
    return [name for name, _ in headers]


def is_child(row: dict[str, Any]) -> bool:
    return "x-openai-subagent" in names(row["headers"])


def test_ids_tell_root_and_child_apart() -> None:
    assert ROOT.session_id == ROOT.thread_id == CHILD.session_id != CHILD.thread_id
    assert (ROOT.name, CHILD.name) == ("/root", "/root/alpha")
    assert (CHILD.parent_thread_id, CHILD.parent_turn_id) == (ROOT.thread_id, ROOT.turn_id)
    assert CHILD.root_turn_id == ROOT.root_turn_id == ROOT.turn_id


def test_a_new_turn_keeps_the_thread_and_names_its_parents_turn() -> None:
    again = CHILD.at_turn(2, "turn-of-parent")
    assert (again.thread_id, again.parent_turn_id) == (CHILD.thread_id, "turn-of-parent")
    assert again.turn_id != CHILD.turn_id


def test_identifiers_are_version_7_and_sort_by_time() -> None:
    early, late = uuid7(1, "a"), uuid7(2, "a")
    assert uuid.UUID(early).version == 7
    assert early < late


def test_metadata_stands_in_the_header_and_in_the_body_in_any_key_order() -> None:
    orders = set()
    for length in range(5):
        body = orjson.loads(codex_wire.turn_body(CHILD, [{}] * length))
        inside = body["client_metadata"]
        orders.add(tuple(inside))
        assert inside["x-codex-turn-metadata"] == dict(codex_wire.post_headers(CHILD, None))["x-codex-turn-metadata"]
        assert body["prompt_cache_key"] == CHILD.session_id
    assert len(orders) > 1


def test_headers_and_body_keys_are_those_of_recorded_threads() -> None:
    for row in recorded_requests():
        ids = CHILD if is_child(row) else ROOT
        if row["method"] == "GET":
            assert set(names(codex_wire.upgrade_headers(ids))) == set(names(row["headers"]))
            continue
        state = "x" if "x-codex-turn-state" in names(row["headers"]) else None
        assert names(codex_wire.post_headers(ids, state)) == names(row["headers"])
        body = orjson.loads(codex_wire.turn_body(ids, []))
        assert list(body) == list(row["body"])
        assert set(body["client_metadata"]) == set(row["body"]["client_metadata"])
        ours, theirs = (json.loads(b["client_metadata"]["x-codex-turn-metadata"]) for b in (body, row["body"]))
        assert list(ours) == list(theirs)


def test_messages_have_the_keys_of_recorded_ones() -> None:
    seen = set()
    for row in recorded("ws_agents"):
        if row["kind"] != "ws_in":
            continue
        theirs = row["body"]
        ids = CHILD if "x-openai-subagent" in theirs["client_metadata"] else ROOT
        previous, is_prewarm = theirs.get("previous_response_id"), theirs.get("generate") is False
        sent = codex_wire.prewarm_message(ids) if is_prewarm else codex_wire.turn_message(ids, [], previous)
        ours = orjson.loads(sent)
        assert list(ours) == list(theirs)
        assert set(ours["client_metadata"]) == set(theirs["client_metadata"])
        metadata = [json.loads(one["client_metadata"]["x-codex-turn-metadata"]) for one in (ours, theirs)]
        assert list(metadata[0]) == list(metadata[1])
        seen.add((ids is CHILD, is_prewarm))
    assert len(seen) == 4


def test_items_have_the_keys_of_recorded_ones() -> None:
    maker = ItemMaker(CHILD.thread_id)
    ours = {
        "additional_tools": maker.context(CHILD)[0],
        "message": maker.message(CHILD, "user", [("user.text", "x")]),
        "agent_message": maker.agent_message(CHILD, "/root", "/root/alpha", "NEW_TASK", "x"),
        "function_call_output": maker.function_output(CHILD, "c", "x"),
        "custom_tool_call_output": maker.custom_output(CHILD, "c", "x", 0.1),
        "reasoning": maker.echo(CHILD, {"type": "reasoning", "id": "i", "summary": [], "encrypted_content": "x"}),
        "function_call": maker.echo(
            CHILD,
            {"type": "function_call", "id": "i", "status": "completed", "call_id": "c", "name": "n"}
            | {"namespace": "s", "arguments": "{}"},
        ),
        "custom_tool_call": maker.echo(
            CHILD,
            {"type": "custom_tool_call", "id": "i", "call_id": "c", "status": "s", "name": "n", "input": ""},
        ),
    }
    seen = set()
    for row in recorded_requests():
        for item in (row["body"] or {}).get("input", []):
            if item["type"] in ours and item.get("role") != "assistant":
                seen.add(item["type"])
                assert list(ours[item["type"]]) == list(item), item["type"]
    assert seen == set(ours)
