"""Whole replays against servers that misbehave: every failure has a class in the summary, and no run hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import replay.content_pool
from corpus.run import read_run
from replay.progress import Progress
from replay.run import run_replay
from tests.replay.loopback import Server, begin, chunk, event, refusal
from tests.replay.rehearsal import WordTokenizer
from tests.replay.test_run import quiet, served, settings, tree

Answer = Callable[[web.Request, dict[str, Any]], Any]


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.content_pool, "load_tokenizer", lambda _name, **_options: WordTokenizer())


async def late(_request: web.Request, _body: dict[str, Any]) -> None:
    await asyncio.sleep(5)


async def resetting(request: web.Request, _body: dict[str, Any]) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def refusing(_request: web.Request, _body: dict[str, Any]) -> web.Response:
    return refusal(429, "too many requests")


async def failing(_request: web.Request, _body: dict[str, Any]) -> web.Response:
    return refusal(503, "overloaded")


async def overflowing(_request: web.Request, _body: dict[str, Any]) -> web.Response:
    return refusal(400, "This model's maximum context length is 100 tokens")


async def redirecting(_request: web.Request, _body: dict[str, Any]) -> web.Response:
    return web.Response(status=307, headers={"Location": "/elsewhere"})


async def breaking(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(chunk(body) + b"data: {broken\n\n" + chunk(body, "length") + b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def erring(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(chunk(body) + event({"error": {"message": "engine died", "code": 500}}))
    await response.write_eof()
    return response


async def stopping(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(chunk(body))
    await response.write_eof()
    return response


async def cutting(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(chunk(body))
    await asyncio.sleep(0.02)
    assert request.transport is not None
    request.transport.abort()
    return response


async def stalling(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    response = await begin(request)
    await response.write(chunk(body))
    await asyncio.Event().wait()
    return response


def misbehaving(answer: Answer, *, from_request: int = 2) -> Server:
    """The test request of the replay is answered well."""

    async def misbehave(server: Server, request: web.Request, body: dict[str, Any]) -> Any:
        return await answer(request, body) if len(server.bodies) >= from_request else None

    return Server(misbehave=misbehave)


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (late, "timeout"),
        (resetting, "reset"),
        (refusing, "http_4xx"),
        (redirecting, "http_4xx"),
        (failing, "http_5xx"),
        (overflowing, "context_overflow"),
        (breaking, "bad_stream"),
        (erring, "http_5xx"),
        (stopping, "truncated"),
        (cutting, "truncated"),
        (stalling, "timeout"),
    ],
)
def test_every_failure_is_counted_by_its_class_and_the_run_goes_on(answer: Answer, named: str, tmp_path: Path) -> None:
    with served(misbehaving(answer)) as server:
        asked = settings(server, tmp_path / "run", request_timeout_s=0.5)
        summary = run_replay([tree(0)], asked, quiet)
    assert summary["errors_by_class"] == {named: summary["requests"]}
    assert summary["requests"] >= 1
    assert (summary["edge_violations"], summary["problem"]) == (0, "")
    assert {row.error for row in read_run(tmp_path / "run").requests} == {named}


def test_server_that_dies_in_the_middle_is_told_from_one_that_was_never_there(tmp_path: Path) -> None:
    async def die(server: Server, request: web.Request, _body: dict[str, Any]) -> Any:
        if len(server.bodies) < 4:
            return None
        await server.stop_listening()
        return await resetting(request, {})

    with served(Server(misbehave=die)) as server:
        summary = run_replay([tree(0)], settings(server, tmp_path / "run"), quiet)
    assert set(summary["errors_by_class"]) <= {"reset", "connect"}
    assert summary["errors_by_class"]["connect"] >= 1
    assert summary["errors"] < summary["requests"]


def test_a_failure_is_told_in_the_servers_own_words(tmp_path: Path) -> None:
    heard: list[Progress] = []
    with served(misbehaving(refusing)) as server:
        run_replay([tree(0)], settings(server, tmp_path / "run"), heard.append)
    assert heard[-1].told == ("first http_4xx: too many requests",)
    assert "too many" not in (tmp_path / "run" / "summary.json").read_text()


def test_too_many_failures_stop_the_run_with_the_reason(tmp_path: Path) -> None:
    with served(misbehaving(failing, from_request=5)) as server:
        asked = settings(server, tmp_path / "run", concurrency=8, failure_share=0.1)
        summary = run_replay([tree(number) for number in range(40)], asked, quiet)
    assert "10 http_5xx" in summary["problem"] or "11 http_5xx" in summary["problem"]
    assert summary["stopped"] == "failures"
    assert summary["requests"] < 100


def test_server_that_counts_otherwise_is_a_token_error_and_an_early_warning(tmp_path: Path) -> None:
    class Generous(Server):
        def count(self, body: dict[str, Any]) -> dict[str, Any]:
            usage = super().count(body)
            return {**usage, "prompt_tokens": usage["prompt_tokens"] * 2}

    heard: list[Progress] = []
    with served(Generous()) as server:
        summary = run_replay([tree(0), tree(1)], settings(server, tmp_path / "run"), heard.append)
    assert summary["token_error"]["p50"] >= 64
    assert "+100% prompt tokens" in heard[-1].told[0]
    assert summary["warnings"]["wrong_prompt_length"] == summary["requests"]
