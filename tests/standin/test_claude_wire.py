"""Claude Code's shapes, compared with recorded traffic where that is at hand."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from standin import claude_wire
from standin.agent_texts import claude_environment, claude_reminders
from standin.claude_wire import Message
from wire.prompt import read_prompt

RECORDED = Path(__file__).resolve().parents[2].parent / "shared" / "captures" / "claude-code"

IDS = claude_wire.new_session("seed")
FIRST: list[Message] = [
    {"role": "user", "content": [{"type": "text", "text": text} for text in (*claude_reminders(), "do it")]},
    {
        "role": "system",
        "content": [{"type": "text", "text": claude_environment("/w", main=True)}],
        "output_config": {"effort": "medium"},
    },
]
SECOND = [
    *FIRST,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]},
    {"role": "user", "content": [claude_wire.tool_result("t", "out", is_error=False)]},
]


def test_parent_id_is_sent_below_the_first_level_only() -> None:
    child = IDS.child("call-1")
    grandchild = child.child("call-2")
    sent = [dict(claude_wire.headers(ids)) for ids in (IDS, child, grandchild)]
    assert [h.get("x-claude-code-agent-id") for h in sent] == [None, child.agent_id, grandchild.agent_id]
    assert [h.get("x-claude-code-parent-agent-id") for h in sent] == [None, None, child.agent_id]
    assert len({h["X-Claude-Code-Session-Id"] for h in sent}) == 1
    assert str(child.agent_id).startswith("a")
    assert len(str(child.agent_id)) == 17


def test_the_cache_mark_moves_and_a_text_that_loses_it_becomes_a_string() -> None:
    one, two = (orjson.loads(claude_wire.turn_body(IDS, history))["messages"] for history in (FIRST, SECOND))
    assert one[1]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert one[1]["content"][0]["text"] == two[1]["content"]
    assert two[-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert orjson.dumps(two).count(b"cache_control") == 1


def test_a_later_request_keeps_the_earlier_prompt_as_its_prefix() -> None:
    one, two = (read_prompt("anthropic-messages", claude_wire.turn_body(IDS, h)).parts for h in (FIRST, SECOND))
    assert two[: len(one)] == one


def test_only_sub_agents_say_so_in_the_billing_line() -> None:
    bodies = [orjson.loads(claude_wire.turn_body(ids, FIRST)) for ids in (IDS, IDS.child("x"))]
    assert ["cc_is_subagent" in body["system"][0]["text"] for body in bodies] == [False, True]


def test_streamed_blocks_are_put_together() -> None:
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {}}},
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": '{"a"'}},
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
    ]
    stream = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    assert claude_wire.read_content(stream) == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}},
    ]


def test_reports_name_the_agent_where_clients_do() -> None:
    assert "agentId: a1" in claude_wire.agent_started("a1")[0]["text"]
    assert "agentId: a1" in claude_wire.agent_finished("a1", "done", 5, 1, 9)[0]["text"]
    note = claude_wire.task_notification("a1", "toolu_1", "done", 5, 1, 9)[-1]["text"]
    assert "<task-id>a1</task-id>" in note
    assert "<tool-use-id>toolu_1</tool-use-id>" in note


def recorded(name: str) -> list[dict[str, Any]]:
    """Messages requests of a recorded file, its shared strings put back."""
    if not RECORDED.is_dir():
        pytest.skip("no recorded traffic at hand")
    blobs = json.loads((RECORDED / "blobs.json").read_text())

    def back(value: Any) -> Any:
        if isinstance(value, dict):
            return blobs[value["$blob"]] if "$blob" in value else {key: back(one) for key, one in value.items()}
        return [back(one) for one in value] if isinstance(value, list) else value

    rows = [back(json.loads(line)) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]
    return [row for row in rows if row["path"].startswith("/v1/messages")]


def names(headers: list[Any]) -> list[str]:
    return [name for name, _ in headers]


def test_headers_and_body_keys_are_those_of_a_recorded_nested_session() -> None:
    child = IDS.child("x")
    by_depth = {0: IDS, 1: child, 2: child.child("y")}
    for row in recorded("base_subagent_nested"):
        ours = by_depth[sum(name.startswith("x-claude-code-") for name in names(row["headers"]))]
        assert names(claude_wire.headers(ours)) == names(row["headers"])
        assert list(orjson.loads(claude_wire.turn_body(ours, FIRST))) == list(row["body"])


def shape(message: dict[str, Any]) -> object:
    content = message["content"]
    return list(message), content if isinstance(content, str) else [list(block) for block in content]


def test_message_shapes_are_those_of_a_recorded_tool_loop() -> None:
    rows = recorded("base_tool_loop")
    for row, history in ((rows[0], FIRST), (rows[2], [*SECOND, *SECOND[2:]])):
        ours = orjson.loads(claude_wire.turn_body(IDS, history))
        pairs = list(zip(ours["messages"], row["body"]["messages"], strict=True))
        for mine, theirs in (pairs[0], pairs[-1]):
            assert shape(mine) == shape(theirs)
        assert [list(block) for block in ours["system"]] == [list(block) for block in row["body"]["system"]]
        assert [type(mine["content"]) for mine, _ in pairs] == [type(theirs["content"]) for _, theirs in pairs]
        known = {tool["name"]: list(tool) for tool in row["body"]["tools"]}
        assert all(known[tool["name"]] == list(tool) for tool in ours["tools"])


def test_the_title_request_is_shaped_like_a_recorded_one() -> None:
    row = recorded("base_interactive_auto_mode")[0]
    ours = orjson.loads(claude_wire.title_body(IDS, "do it"))
    assert list(ours) == list(row["body"])
    assert list(ours["output_config"]["format"]) == list(row["body"]["output_config"]["format"])
    assert names(claude_wire.headers(IDS, title=True)) == names(row["headers"])
