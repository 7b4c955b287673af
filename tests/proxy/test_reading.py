from __future__ import annotations

from typing import Any

import orjson
import pytest

from corpus.exchange import Headers, Identity, RequestRecord
from proxy.chains import Chains
from proxy.reading import Read, Reader
from wire.api import Api

LONG = "word " * 10_000


def heard(api: Api, headers: Headers, **body: Any) -> tuple[RequestRecord, bytes]:
    sent = orjson.dumps(body)
    record = RequestRecord("e", 0, 0, "POST", "/", api, "u", headers, Identity(), None, len(sent), sent)
    return record, sent


def read_all(bodies: list[dict[str, Any]], api: Api) -> list[Read]:
    """By one reader, which remembers; each must be as a reader reads it that does not."""
    reader = Reader(Chains())
    asked = [heard(api, (("session-id", "s"),), **body) for body in bodies]
    results = [reader.read(*one) for one in asked]
    for one, result in zip(asked, results, strict=True):
        alone = Reader(Chains()).read(*one)
        assert (alone.facts, alone.content) == (result.facts, result.content)
        assert (alone.chain.digest if alone.chain else None) == (result.chain.digest if result.chain else None)
    return results


def test_messages_that_grow_are_told_of_as_if_read_whole() -> None:
    said: list[dict[str, Any]] = [{"role": "user", "content": LONG}, {"role": "system", "content": "be kind"}]
    said += [{"role": "user", "content": f"{number}"} for number in range(5)]
    said.append({"role": "system", "content": "late"})
    bodies = [{"model": "m", "messages": said[:length], "stream": True} for length in (3, 5, 7)]
    bodies.append(bodies[-1] | {"stream": False, "max_tokens": 5})
    bodies.append(bodies[-1] | {"messages": said})
    results = read_all(bodies, "anthropic-messages")
    assert [result.facts.system_texts_head for result in results] == ["be kind"] * 4 + ["be kind\nlate"]
    assert [result.facts.asked for result in results] == [("0",), ("2",), ("4",), ("4",), ("4",)]
    assert results[2].content == results[3].content  # the same asked without a stream
    assert len({result.content for result in results}) == 4


def test_items_that_grow_have_the_chain_of_the_whole() -> None:
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "exec"}]}
    said: list[dict[str, Any]] = [tools]
    for number in range(6):
        said.append(
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{number} {LONG}"}]}
        )
        said.append({"type": "function_call_output", "call_id": f"c{number}", "output": "done"})
    bodies = [{"model": "m", "input": said[:length]} for length in (4, 6, 13)]
    results = read_all(bodies, "openai-responses")
    assert all(result.chain for result in results)
    assert [result.facts.tool_names for result in results] == [("exec",)] * 3


def test_chat_messages_are_told_of_and_compared_by_bytes() -> None:
    said = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": LONG},
        {"role": "user", "content": "b"},
    ]
    (first, second) = read_all([{"messages": said[:2]}, {"messages": said}], "openai-chat")
    assert first.facts.system_texts_head == second.facts.system_texts_head == "be kind"
    assert first.content is None


@pytest.mark.parametrize("items", [[1, LONG, 2], [{"type": 7, "x": LONG}, {"type": "message", "role": "user"}], LONG])
def test_input_of_no_known_shape_still_gives_facts(items: object) -> None:
    for result in read_all([{"model": "m", "input": items}] * 2, "openai-responses"):
        assert result.facts.model == "m"


def test_what_goes_on_from_another_response_is_not_read_by_what_came_before() -> None:
    said = [{"type": "message", "role": "user", "content": f"{number} {LONG}"} for number in range(3)]
    first, second = read_all([{"input": said}, {"input": said, "previous_response_id": "unheard"}], "openai-responses")
    assert first.chain is not None
    assert second.chain is None


def test_what_is_not_read_tells_nothing() -> None:
    record, _ = heard("other", ())
    assert Reader(Chains()).read(record, b"") == Read()
    assert Reader(Chains()).read(record, b"no json") == Read()
