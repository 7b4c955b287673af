"""Who asks and what is foreseen; and the whole request of every engine against golden files, kept by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from corpus.errors import InputError
from replay.addressing import HINTS, Addressing, trial_fields
from replay.commands import Send
from replay.endpoints import ENDPOINTS, EndpointName, request_body
from replay.engines import ENGINES, EngineName
from replay.items import Item
from replay.plan import PlanRules, plan_session
from tests.replay.rehearsal import Asked, edge, session_of

GOLDEN = Path(__file__).with_name("golden")
# A main agent that forks a sub-agent from its context and waits for it, with a title beside.
SESSION = session_of(
    [
        Asked(0, 1, (1, 2, 3, 4)),
        Asked(1, 2, (90,), purpose="title"),
        Asked(3, 4, (1, 2, 3, 4, 5), agent=1),
        Asked(8, 9, (1, 2, 3, 4, 6)),
    ],
    [edge(0, 1, 0, kind="aux"), edge(0, 2, 2, kind="spawn"), edge(0, 3, 7), edge(2, 3, 4, kind="join")],
)
PLAN = plan_session(SESSION, PlanRules(300_000_000, 1, None))
BY_NUMBER = {request.request: request for request in PLAN.requests}


def send(request: int, play: int = 3, lane: int = 5) -> Send:
    return Send(lane, play, PLAN, BY_NUMBER[request], "profile", 7, (), 0, 0, 0)


def addressing(engine: EngineName = "vllm", endpoint: str = "completions", *hints: str, **changes: Any) -> Addressing:
    return Addressing(ENGINES[engine], endpoint, {0: SESSION}, seed=42, hints=frozenset(hints), **changes)


def test_every_stream_is_a_session_of_its_own_below_the_one_that_started_it() -> None:
    made = addressing("dynamo")
    main, title, child, later = (made.headers(send(n)) for n in range(4))
    session, parent = "X-Dynamo-Session-ID", "X-Dynamo-Parent-Session-ID"
    assert main == later == {session: "agentreel-42-3-0"}
    assert title == {session: "agentreel-42-3-1", parent: "agentreel-42-3-0"}
    assert child == {session: "agentreel-42-3-2", parent: "agentreel-42-3-0"}
    assert made.headers(send(0, play=4))[session] == "agentreel-42-4-0"


def test_nothing_is_hinted_unasked() -> None:
    for engine in ENGINES:
        made = addressing(engine)
        for request in BY_NUMBER:
            assert not [name for name in made.headers(send(request)) if name.startswith("x-agentreel-")]
            assert not made.fields(send(request)).keys() & {"nvext", "priority"}


def test_hints_say_what_the_trace_knows() -> None:
    made = addressing("vllm", "completions", *HINTS)
    told = [
        {
            name.removeprefix("x-agentreel-"): value
            for name, value in made.headers(send(n)).items()
            if "agentreel" in name
        }
        for n in range(4)
    ]
    assert told == [
        {"pin": "7000", "prefetch": "2000", "apart": "true", "length": "7"},
        {"demote": "true", "apart": "true", "priority": "background", "length": "7"},
        {"demote": "true", "length": "7"},
        {"length": "7"},
    ]
    assert made.headers(send(1))["x-session-id"] == "agentreel-42-3-1-1"  # apart: no worker's session
    assert [made.fields(send(n)).get("priority") for n in range(4)] == [None, 1, None, None]


def test_a_hint_is_given_alone_when_it_is_asked_for_alone() -> None:
    made = addressing("dynamo", "chat", "prefetch")
    assert made.fields(send(0))["nvext"] == {"agent_hints": {"speculative_prefill": True}}
    assert "nvext" not in made.fields(send(3))
    assert "X-Dynamo-Session-Final" not in made.headers(send(2))


def test_what_the_user_adds_to_every_body_stays_beside_the_hints() -> None:
    extra = {"nvext": {"greed_sampling": True, "agent_hints": {"priority": 3}}, "temperature": 0}
    made = addressing("dynamo", "chat", "length", extra=extra)
    assert made.fields(send(0))["nvext"] == {"greed_sampling": True, "agent_hints": {"priority": 3, "osl": 7}}
    assert extra["nvext"] == {"greed_sampling": True, "agent_hints": {"priority": 3}}
    assert made.fields(send(0))["temperature"] == 0


def test_lanes_are_dealt_out_to_the_ranks() -> None:
    made = addressing("sglang", ranks=4)
    assert [made.headers(send(0, lane=lane))["X-data-parallel-rank"] for lane in range(5)] == list("01230")
    with pytest.raises(InputError, match="has no header for a rank"):
        addressing("llamacpp", ranks=2)


def test_an_unknown_hint_is_told_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="'pni' is no hint; give some of pin,"):
        addressing("vllm", "completions", "pni")


def test_a_test_request_has_every_field_that_a_request_may_have() -> None:
    fields = trial_fields(ENGINES["dynamo"], "chat", frozenset(HINTS), {"temperature": 0}, 1)
    hinted = {"speculative_prefill": True, "osl": 1, "priority": -1}
    assert fields == {"temperature": 0, "min_tokens": 1, "ignore_eos": True, "nvext": {"agent_hints": hinted}}
    assert trial_fields(ENGINES["vllm"], "messages", frozenset(), {}, 1) == {}


def whole(engine: EngineName, endpoint: EndpointName, request: int, *hints: str) -> dict[str, Any]:
    made = addressing(engine, endpoint, *hints, extra={"temperature": 0})
    fields = made.fields(send(request))
    laid = [(Item("system", 0, 2), b" be brief"), (Item("user", 2, 4), b" do it")]
    if endpoint == "completions":
        laid = [(Item("user", 0, 3), b"11,12,13")]
    body = request_body(ENDPOINTS[endpoint], "m", ENDPOINTS[endpoint].lay_out(laid), 7, fields)
    return {"path": ENDPOINTS[endpoint].path, "headers": made.headers(send(request)), "body": orjson.loads(body)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_whole_requests_are_those_in_the_golden_files(engine: EngineName, endpoint: EndpointName) -> None:
    if endpoint == "completions" and not ENGINES[engine].ids:
        assert not (GOLDEN / f"{engine}.{endpoint}.json").exists()
        return
    kept = orjson.loads((GOLDEN / f"{engine}.{endpoint}.json").read_bytes())
    assert kept == {
        "main agent": whole(engine, endpoint, 0),
        "sub-agent, last request, all hints": whole(engine, endpoint, 2, *HINTS),
        "title, all hints": whole(engine, endpoint, 1, *HINTS),
    }
