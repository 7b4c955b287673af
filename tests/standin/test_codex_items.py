"""Codex' input items."""

import orjson

from standin import codex_wire
from standin.codex_items import ItemMaker, is_whole, read_items

IDS = codex_wire.new_session("seed").at_turn(1)


def test_items_have_ids_of_their_own_in_order_of_time() -> None:
    maker = ItemMaker(IDS.thread_id)
    items = [maker.message(IDS, "user", [("user.text", "a")]) for _ in range(5)]
    ids = [item["id"] for item in items]
    assert ids == sorted(set(ids))


def test_the_context_starts_with_the_tools_and_labels_every_part() -> None:
    tools, *messages = ItemMaker(IDS.thread_id).context(IDS)
    assert tools["type"] == "additional_tools"
    for message in messages:
        about = message["internal_chat_message_metadata_passthrough"]
        assert len(about["content_item_kinds"]) == len(message["content"])


def test_a_task_is_sealed_and_a_report_is_readable() -> None:
    maker = ItemMaker(IDS.thread_id)
    task = maker.agent_message(IDS, "/root", "/root/a", "NEW_TASK", "do it")
    report = maker.agent_message(IDS, "/root/a", "/root", "FINAL_ANSWER", "did it")
    assert task["content"][1] == {"type": "encrypted_content", "encrypted_content": "do it"}
    assert "FINAL_ANSWER" in report["content"][0]["text"]
    assert report["content"][0]["text"].endswith("did it")


def test_an_answers_item_is_repeated_with_its_content_and_the_clients_metadata() -> None:
    call = {"type": "function_call", "id": "i", "call_id": "c", "status": "completed", "name": "n", "arguments": "{}"}
    again = ItemMaker(IDS.thread_id).echo(IDS, call)
    assert {key: again[key] for key in call} == call
    assert again["internal_chat_message_metadata_passthrough"] == {"turn_id": IDS.turn_id}


def test_finished_items_are_read_from_a_stream() -> None:
    events = [{"type": "response.created"}, {"type": "response.output_item.done", "item": {"type": "message"}}]
    stream = b"".join(b"event: x\ndata: " + orjson.dumps(event) + b"\n\n" for event in events)
    assert read_items(stream) == [{"type": "message"}]
    assert not is_whole(stream)
    assert is_whole(stream + b"event: response.completed\ndata: {}\n\n")
