"""What real Codex traffic must look like through this room: every body reads, history is a stable prefix."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import orjson

from tests.wire.conftest import Recorded
from wire.answer import read_answer
from wire.api import Api
from wire.facts import peek_request
from wire.prompt import Part, read_prompt
from wire.sse import format_sse
from wire.usage import normalise_usage

API: Api = "openai-responses"


def parts(recorded: Recorded) -> tuple[Part, ...]:
    return read_prompt(API, recorded.raw).parts


def requests(exchanges: list[Recorded]) -> list[Recorded]:
    return [recorded for recorded in exchanges if recorded.body]


def threads(exchanges: list[Recorded]) -> dict[tuple[str, str], list[list[Recorded]]]:
    """HTTP requests by scenario and thread, one list per context window in order."""
    windows: dict[tuple[str, str], dict[str, list[Recorded]]] = defaultdict(lambda: defaultdict(list))
    for recorded in requests(exchanges):
        if recorded.headers["transport"] == "http":
            metadata = recorded.body["client_metadata"]
            thread = windows[recorded.scenario, metadata["thread_id"]]
            thread[metadata["x-codex-window-id"]].append(recorded)
    return {key: list(thread.values()) for key, thread in windows.items()}


def test_every_body_and_frame_reads(codex: list[Recorded]) -> None:
    assert len(requests(codex)) == 217
    for recorded in requests(codex):
        for part in parts(recorded):
            assert '"id":"' not in part.text or part.kind in {"tools", "tool_call", "tool_result"}
            assert "internal_chat_message_metadata" not in part.text
            assert part.kind != "opaque" or (part.text == "" and part.digest)


def test_earlier_parts_are_a_prefix_of_the_next_request_of_a_thread_and_window(codex: list[Recorded]) -> None:
    compared = 0
    for windows in threads(codex).values():
        for window in windows:
            for earlier, later in pairwise(window):
                before = parts(earlier)
                assert parts(later)[: len(before)] == before, earlier.scenario
                compared += 1
    assert compared > 90


def test_compaction_breaks_the_history_but_keeps_the_texts_at_its_head(codex: list[Recorded]) -> None:
    crossed = 0
    for (scenario, _), windows in threads(codex).items():
        for before, after in pairwise(windows):
            earlier, later = parts(before[-1]), parts(after[0])
            assert later[: len(earlier)] != earlier
            if scenario != "tui_http":  # there the first user message moved to the front
                head = [part for part in earlier if part.message < 2]
                assert list(later[: len(head)]) == head
            crossed += 1
    assert crossed >= 3


def test_parts_of_a_thread_come_tools_first(codex: list[Recorded]) -> None:
    for recorded in requests(codex):
        numbers = [part.message for part in parts(recorded)]
        assert numbers == sorted(numbers)
        if recorded.headers["transport"] == "http":
            assert numbers[0] == -2


def test_recorded_events_give_the_recorded_usage_and_items(codex: list[Recorded]) -> None:
    whole = 0
    for recorded in codex:
        if not recorded.events:
            continue
        body = b"".join(format_sse(event["type"], orjson.dumps(event)) for event in recorded.events)
        answer = read_answer(API, body, "text/event-stream")
        last = recorded.events[-1]
        assert answer.complete is (last["type"] == "response.completed")
        assert (answer.error is not None) is (last["type"] in {"response.failed", "error"})
        if answer.complete:
            assert answer.usage == normalise_usage(API, last["response"]["usage"])
            assert answer == read_answer(API, orjson.dumps(last["response"]), "application/json")
            whole += 1
    assert whole > 190


def test_an_answer_comes_back_as_the_next_request_s_history(codex: list[Recorded]) -> None:
    matched = 0
    for windows in threads(codex).values():
        for window in windows:
            for earlier, later in pairwise(window):
                body = b"".join(format_sse(event["type"], orjson.dumps(event)) for event in earlier.events)
                answer = read_answer(API, body, "text/event-stream")
                if not answer.complete:
                    continue
                said = [(part.kind, part.text, part.call_id, part.digest) for part in answer.parts]
                new = parts(later)[len(parts(earlier)) :]
                kept = [(part.kind, part.text, part.call_id, part.digest) for part in new]
                assert kept[: len(said)] == said, earlier.scenario
                matched += bool(said)
    assert matched > 60


def test_error_bodies_give_their_type(codex: list[Recorded]) -> None:
    refused = [recorded for recorded in codex if recorded.answer and (recorded.status or 0) >= 400]
    assert len(refused) >= 3
    for recorded in refused:
        answer = read_answer(API, orjson.dumps(recorded.answer), "application/json")
        assert (answer.error, answer.complete) == ("server_error", False)


def test_facts_carry_the_client_metadata_and_tools_wherever_they_are(codex: list[Recorded]) -> None:
    for recorded in requests(codex):
        facts = peek_request(API, recorded.raw)
        assert facts.client_metadata == recorded.body["client_metadata"]
        assert facts.model == recorded.body["model"]
        if recorded.headers["transport"] == "http":
            assert facts.has_tools
            assert facts.tool_names
            assert facts.system_texts_head
