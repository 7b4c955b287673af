from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from corpus.session import Session
from replay import bodies as bodies_module
from replay.bodies import Bodies
from replay.commands import Send
from replay.content import Material
from replay.content_pool import build_pool
from replay.endpoints import ENDPOINTS, EndpointName
from replay.framing import NO_FRAMING, Framing
from replay.plan import plan_session
from replay.settings import ReplaySettings
from tests.replay.rehearsal import PLAIN_RULES, Asked, WordTokenizer, edge, session_of

SESSION = session_of(
    [
        Asked(0, 1, (1, 2), input_tokens=150, segments=(("system", 20), ("user", 130))),
        Asked(2, 3, (1, 2, 3), segments=(("system", 20), ("user", 130), ("tool_call", 30), ("tool_result", 12))),
    ],
    [edge(0, 1, 1)],
)


def bodies(endpoint: EndpointName = "completions", session: Session = SESSION, framing: Framing = NO_FRAMING) -> Bodies:
    row = ENDPOINTS[endpoint]
    settings = ReplaySettings("http://h:1", "m", Path("run"), "words", endpoint=endpoint)
    return Bodies({0: session}, Material(build_pool(WordTokenizer()), row.form), row, settings, framing)


def send(request: int, play: int = 0, output_tokens: int = 2) -> Send:
    plan = plan_session(SESSION, PLAIN_RULES)
    return Send(0, play, plan, plan.requests[request], "profile", output_tokens, (), 0, 0, 0)


async def body(made: Bodies, request: int, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(await made.body(send(request, **changes)))
    return found


async def test_prepared_prompt_gives_the_same_body_as_one_built_on_the_spot() -> None:
    prepared = bodies()
    await prepared.prepare([(0, 0, 1)])
    assert await body(prepared, 1) == await body(bodies(), 1)
    assert len((await body(bodies(), 1))["prompt"]) == 192


async def test_prompts_prepared_together_are_what_each_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies_module, "_SLICE_BLOCKS", 5)
    asked = [send(request, play=play) for play in (0, 1, 2) for request in (0, 1)]
    together, alone = bodies("chat"), bodies("chat")
    await together.prepare((one.play, 0, one.request.request) for one in [*asked, asked[0]])
    assert [list(held.ready) for held in together._held.values()] == [[0, 1]] * 3
    assert [await together.body(one) for one in asked] == [await alone.body(one) for one in asked]
    assert together._held_bytes == 0


async def test_output_length_is_decided_when_sent_not_when_prepared() -> None:
    made = bodies()
    await made.prepare([(0, 0, 0)])
    assert (await body(made, 0, output_tokens=1))["max_tokens"] == 1


async def test_chat_speaks_in_the_roles_of_the_segments() -> None:
    made = await body(bodies("chat"), 1)
    assert [message["role"] for message in made["messages"]] == ["system", "user", "assistant", "tool"]
    assert [len(message["content"].split()) for message in made["messages"]] == [20, 130, 0, 12]
    (call,) = made["messages"][2]["tool_calls"]
    assert len(orjson.loads(call["function"]["arguments"])["input"].split()) == 30
    assert call["id"] == made["messages"][3]["tool_call_id"]


async def test_chat_without_segments_is_one_user_message() -> None:
    made = bodies("chat", session_of([Asked(0, 1, (1, 2)), Asked(1, 2, (1,))]))
    (message,) = (await body(made, 0))["messages"]
    assert (message["role"], len(message["content"].split())) == ("user", 128)


async def test_nothing_is_held_for_a_forgotten_play_or_a_sent_request() -> None:
    made = bodies()
    for request in (0, 1):
        await made.prepare([(0, 0, request)])
        await made.prepare([(1, 0, request)])
    assert made._held_bytes > 0
    await made.body(send(0))
    await made.body(send(1))
    made.forget(0)
    made.forget(1)
    assert (made._held_bytes, made._held, list(made._shared)) == (0, {}, [])


async def test_prompt_that_was_sent_while_it_was_prepared_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies_module, "_SHORT_TOKENS", 0)
    made = bodies()
    preparing = asyncio.ensure_future(made.prepare([(0, 0, 0)]))
    await asyncio.sleep(0)
    assert not preparing.done()
    await made.body(send(0))
    await preparing
    assert (made._held_bytes, made._held[0].ready) == (0, {})


async def test_prompts_are_held_up_to_a_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies_module, "_MOST_HELD_BYTES", 100)
    made = bodies()
    for request in (0, 1):
        await made.prepare([(0, 0, request)])
    assert list(made._held[0].ready) == [0]
    assert len((await body(made, 1))["prompt"]) == 192


@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_bodies_are_the_same_bytes_in_any_order(endpoint: EndpointName) -> None:
    framing = Framing({("start", "system"): 4.5, ("system", "user"): 3.0, ("user", "call"): 9.5})
    forwards, backwards = bodies(endpoint, framing=framing), bodies(endpoint, framing=framing)
    await backwards.prepare([(1, 0, 1)])
    asked = [send(request, play=play) for play in (0, 1) for request in (0, 1)]
    sent = [await forwards.body(one) for one in asked]
    assert [await backwards.body(one) for one in reversed(asked)] == sent[::-1]
    assert len(set(sent)) == 4


async def test_what_the_template_adds_is_taken_off_the_content() -> None:
    framing = Framing({("start", "system"): 4.5, ("system", "user"): 3.0, ("user", "call"): 9.5})
    made = await body(bodies("chat", framing=framing), 1)
    counts = [len(message["content"].split()) for message in made["messages"]]
    assert counts == [16, 127, 0, 12]  # 15.5 and 142.5 in all
