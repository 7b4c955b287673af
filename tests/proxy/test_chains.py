from __future__ import annotations

from typing import Any

import pytest

from proxy.chains import Chain, Chains
from wire.errors import WireError


def said(text: str, role: str = "user", **extra: object) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]} | extra


def asked(chains: Chains, *items: dict[str, Any], **fields: object) -> Chain:
    chain = chains.asked({"input": list(items)} | fields)
    assert chain is not None
    return chain


def test_a_turn_that_goes_on_equals_the_same_turn_in_full() -> None:
    chains = Chains()
    first = asked(chains, said("hi"))
    chains.answered("r1", "e1", first.then([said("hello", "assistant", id="msg_1", status="completed")]))
    short = asked(chains, said("more"), previous_response_id="r1")
    echoed = said("hello", "assistant", internal_chat_message_metadata_passthrough={"turn_id": "t"})
    assert short.digest == asked(chains, said("hi"), echoed, said("more")).digest
    assert short.digest != asked(chains, said("hi"), said("more")).digest
    assert chains.previous({"previous_response_id": "r1"}) == "e1"
    assert chains.previous({}) is None


def test_metadata_and_ids_do_not_count_but_tools_and_instructions_do() -> None:
    chains = Chains()
    plain = asked(chains, said("hi"))
    assert plain.digest == asked(chains, said("hi", id="x"), client_metadata={"a": "b"}, stream=True).digest
    assert plain.digest != asked(chains, said("hi"), instructions="be kind").digest
    assert plain.digest != asked(chains, said("hi"), tools=[{"type": "function", "name": "f"}]).digest
    assert plain.digest != asked(chains, said("hi", "developer")).digest


def test_what_goes_on_from_an_unheard_turn_has_no_digest() -> None:
    chains = Chains()
    assert chains.asked({"input": [], "previous_response_id": "r1"}) is None
    assert chains.previous({"previous_response_id": "r1"}) is None
    with pytest.raises(WireError):
        chains.asked({"input": 7})


def test_memory_is_bounded() -> None:
    chains = Chains(remembered=2)
    for number in range(3):
        chains.answered(f"r{number}", f"e{number}", asked(chains, said("hi")))
    assert [chains.previous({"previous_response_id": f"r{number}"}) for number in range(3)] == [None, "e1", "e2"]


def test_an_item_with_an_id_is_read_once() -> None:
    chains = Chains(remembered_items=1)
    first = asked(chains, said("hi", id="a"), said("there", id="b"))
    assert first.digest == asked(chains, said("hi", id="a"), said("there", id="b")).digest
    assert first.digest == asked(chains, said("hi"), said("there")).digest
    assert first.digest != asked(chains, said("hi", id="c"), said("you", id="d")).digest
    known = asked(chains, said("you", id="d"))
    assert known.digest == asked(chains, said("another text", id="d")).digest  # the id stands for what it was
