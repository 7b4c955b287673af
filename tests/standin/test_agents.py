"""Every scenario, end to end against the model API."""

from typing import Any

import pytest

from corpus.errors import InputError
from standin.agents import SCENARIOS, run_agents
from standin.listening import Listening
from standin.model_api import start_model_api
from wire.answer import read_answer

Sent = Any  # conftest's record; test folders are no packages, so it can't be imported


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_scenario_completes_without_errors(model_api: Listening, name: str) -> None:
    report = await run_agents(model_api.url, f"{model_api.url}/v1", seed=3, scenarios=[name])
    assert report.errors == ()
    (session,) = report.sessions
    assert session.session_id
    assert report.requests == session.requests > 5


async def test_the_same_seed_sends_the_same_bytes_to_a_fresh_server(sent: list[Sent]) -> None:
    runs = []
    for _ in range(2):
        server = await start_model_api(seed=7)
        await run_agents(server.url, f"{server.url}/v1", seed=3)
        await server.close()
        runs.append(sorted((one.path, one.headers, one.body) for one in sent))
        sent.clear()
    assert runs[0] == runs[1]


async def test_another_seed_sends_other_ids(model_api: Listening) -> None:
    reports = [
        await run_agents(model_api.url, f"{model_api.url}/v1", seed=seed, scenarios=["claude-loop"]) for seed in (1, 2)
    ]
    assert reports[0].sessions[0].session_id != reports[1].sessions[0].session_id


async def test_usage_of_every_answer_adds_up_and_cache_reads_grow(model_api: Listening, sent: list[Sent]) -> None:
    await run_agents(model_api.url, f"{model_api.url}/v1", seed=3)
    reads: dict[tuple[str | None, ...], list[int]] = {}
    for one in sent:
        if one.method != "POST" or one.reply.status != 200:
            continue
        answer = read_answer(one.api, one.reply.body, "text/event-stream")
        if not answer.complete:
            continue
        usage = answer.usage
        assert usage
        assert usage.input_tokens
        assert usage.output_tokens
        assert (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0) <= usage.input_tokens
        assert (usage.cache_read_tokens or 0) % 64 == 0
        who = tuple(map(one.header, ("x-claude-code-session-id", "x-claude-code-agent-id", "thread-id")))
        if b"json_schema" not in one.body:
            reads.setdefault(who, []).append(usage.cache_read_tokens or 0)
    assert len(reads) > 10
    for seen in reads.values():
        assert seen == sorted(seen)
        assert seen[-1] > seen[0]


async def test_a_title_is_asked_for_before_the_first_turn(model_api: Listening, sent: list[Sent]) -> None:
    await run_agents(model_api.url, f"{model_api.url}/v1", seed=3, scenarios=["claude-loop"])
    assert [sent[0].method, sent[0].path] == ["HEAD", "/api/hello"]
    assert b"json_schema" in sent[1].body
    assert b'"title' in sent[1].reply.body
    assert sum(b"json_schema" in one.body for one in sent) == 1


async def test_an_unknown_scenario_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="claude-loop"):
        await run_agents("http://127.0.0.1:1", "http://127.0.0.1:1", scenarios=["nope"])


async def test_a_server_that_is_not_there_is_an_error_of_the_session() -> None:
    report = await run_agents("http://127.0.0.1:1", "http://127.0.0.1:1", scenarios=["claude-loop", "codex-loop"])
    assert len(report.errors) == 2
