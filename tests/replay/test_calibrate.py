from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import orjson
import pytest

from corpus.errors import InputError
from replay.calibrate import calibrate
from replay.content import Material
from replay.content_pool import build_pool
from replay.endpoints import ENDPOINTS, EndpointName
from replay.framing import NO_FRAMING, PROBES, Framing
from replay.items import ANY_MANNERS, Kind, Manners
from replay.settings import ReplaySettings
from tests.replay.loopback import Server, refusal, serving
from tests.replay.rehearsal import WordTokenizer

ALL: frozenset[Kind] = frozenset({"system", "assistant", "call", "result"})


class Templated(Server):
    """Frames every message with five tokens and every call with nine, and opens the answer with three."""

    ignores_calls = False

    def count(self, body: dict[str, Any]) -> dict[str, Any]:
        if "prompt" in body:
            return super().count(body)
        total = 3
        for message in body["messages"]:
            total += 5 + len(message["content"].split())
            for call in message.get("tool_calls", ()):
                words = len(orjson.loads(call["function"]["arguments"])["input"].split())
                total += 9 + (0 if self.ignores_calls else words)
        return {"prompt_tokens": total, "completion_tokens": 1}


async def learn(server: Server, kinds: frozenset[Kind] = ALL, endpoint: EndpointName = "chat") -> Framing:
    async with serving(server):
        settings = ReplaySettings(server.url, "m", Path("run"), "words", endpoint=endpoint)
        material = Material(build_pool(WordTokenizer()), ENDPOINTS[endpoint].form)
        return await calibrate(material, settings, {"temperature": 0}, kinds)


async def test_what_the_template_adds_is_learnt_from_the_servers_counts() -> None:
    server = Templated()
    framing = await learn(server)
    assert (framing.manners, framing.off_by) == (ANY_MANNERS, 0)
    costs = framing.costs
    assert costs["start", "user"] + costs["user", "end"] == 8
    assert costs["start", "system"] + costs["system", "user"] + costs["user", "end"] == 13
    assert costs["user", "assistant"] + costs["assistant", "user"] == 10
    assert costs["call", "call"] + costs["result", "result"] == pytest.approx(14, abs=0.001)
    assert len(server.bodies) == len(PROBES) + 2
    assert all(body["temperature"] == 0 and body["max_tokens"] == 1 for body in server.bodies)


async def test_a_run_without_segments_asks_once() -> None:
    server = Templated()
    framing = await learn(server, frozenset())
    assert framing.costs == {("start", "user"): 0, ("user", "end"): 8}
    assert len(server.bodies) == 1


async def test_token_ids_have_no_template() -> None:
    server = Templated()
    assert await learn(server, endpoint="completions") == NO_FRAMING
    assert [len(body["prompt"]) for body in server.bodies] == [8]


async def test_calls_that_are_not_counted_go_out_as_text(caplog: pytest.LogCaptureFixture) -> None:
    server = Templated()
    server.ignores_calls = True
    with caplog.at_level(logging.WARNING):
        framing = await learn(server)
    assert framing.manners == Manners(frozenset({"call", "result"}))
    assert framing.costs["user", "end"] == 8
    assert "does not take or count every call" in caplog.text


@pytest.mark.parametrize(("role", "refused"), [("tool", {"call", "result"}), ("system", {"system"})])
async def test_roles_the_server_refuses_go_out_as_text(role: str, refused: set[Kind]) -> None:
    async def refuse(_server: Server, _request: object, body: dict[str, Any]) -> Any:
        roles = [message["role"] for message in body["messages"]]
        return refusal(400, f"no role {role} here") if role in roles else None

    framing = await learn(Templated(misbehave=refuse))
    assert framing.manners == Manners(frozenset(refused))
    assert framing.costs["user", "end"] == 8


def alternating(roles: list[str]) -> bool:
    """The user first and last, nobody twice in a row, nobody else."""
    return roles == (["user", "assistant"] * len(roles))[: len(roles)]


def mistral_like(roles: list[str]) -> bool:
    """The system may open; tools and calls are passed over when the turns of user and assistant are looked at."""
    return alternating([role for role in roles[roles[0] == "system" :] if role != "tool"])


@pytest.mark.parametrize("counts", [True, False])
async def test_a_template_that_wants_strict_turns_gets_calls_as_text_and_the_user_first(
    counts: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(_server: Server, _request: object, body: dict[str, Any]) -> Any:
        roles = [message["role"] for message in body["messages"]]
        return None if alternating(roles) else refusal(400, "Conversation roles must alternate user/assistant")

    with caplog.at_level(logging.WARNING):
        framing = await learn(Templated(misbehave=refuse, usage=counts))
    assert framing.manners == Manners(frozenset({"system", "call", "result"}), user_opens=True)
    assert framing.costs.get(("user", "end")) == (8 if counts else None)
    assert "they go out as text of the assistant" in caplog.text


async def test_a_template_that_only_minds_the_turns_keeps_its_system() -> None:
    async def refuse(_server: Server, _request: object, body: dict[str, Any]) -> Any:
        messages = [message for message in body["messages"] if "tool_calls" not in message]
        taken = mistral_like([message["role"] for message in messages])
        return None if taken else refusal(400, "After the optional system message, conversation roles must alternate")

    framing = await learn(Templated(misbehave=refuse))
    assert framing.manners == Manners(frozenset({"call", "result"}), user_opens=True)


async def test_test_requests_that_a_busy_server_turns_away_are_asked_again_and_no_refusal() -> None:
    turned_away: list[int] = []

    async def busy(server: Server, _request: object, _body: dict[str, Any]) -> Any:
        if len(server.bodies) > 4 and len(turned_away) < 6:
            turned_away.append(len(server.bodies))
            return refusal(429, "too many requests")
        return None

    assert (await learn(Templated(misbehave=busy))).manners == ANY_MANNERS
    assert len(turned_away) == 6


async def test_a_server_that_goes_on_turning_test_requests_away_is_told() -> None:
    async def busy(server: Server, _request: object, _body: dict[str, Any]) -> Any:
        return refusal(429, "too many requests") if len(server.bodies) > 1 else None

    with pytest.raises(InputError, match="too many requests"):
        await learn(Templated(misbehave=busy))


async def test_a_server_that_counts_nothing_is_told_and_used_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert await learn(Templated(usage=False)) == NO_FRAMING
    assert "counts no prompt tokens" in caplog.text


async def test_a_server_that_does_not_know_the_model_is_told_in_its_own_words() -> None:
    with pytest.raises(InputError, match=r"HTTP 404\): The model `m` does not exist"):
        await learn(Templated(model="other"))
