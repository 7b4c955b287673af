from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, make_dataclass, replace
from itertools import count
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from anonymize.policy import FIELDS, LeakError, Treatment, check_record
from corpus.card import Card
from corpus.exchange import Exchange, Identity
from corpus.session import Agent, Session
from tests.anonymize.exchanges import (
    anonymize,
    assistant,
    claude_answer,
    claude_body,
    codex_answer,
    exchange,
    session_of,
    tool_result,
    tool_use,
    user,
)


@pytest.fixture
def session() -> Session:
    return session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])


def test_the_census_counts_strings_by_field(session: Session) -> None:
    seen = check_record(session)
    assert seen["Request.stop"] == len(session.requests)
    assert seen["Session.models"] == 1


def test_every_string_off_the_list_is_refused_and_not_repeated(session: Session) -> None:
    request = session.requests[0]
    assert request.segments is not None
    secret = "secret-4711"
    leaky = [
        replace(session, harness=secret),
        replace(session, models=(secret,)),
        replace(session, source=secret),
        replace(session, agents=(Agent(0, None, "main", source=secret),)),
        replace(session, requests=(replace(request, stop=secret),)),
        replace(session, requests=(replace(request, input_kinds=(secret,)),)),
        replace(session, requests=(replace(request, segments=replace(request.segments, roles=(secret,))),)),  # type: ignore[arg-type]  # what a bug would do
        replace(session, harness_version=(1, secret)),  # type: ignore[arg-type]  # what a bug would do
        replace(session, harness_version={secret: 1}),  # type: ignore[arg-type]  # what a bug would do
        replace(session, harness_version=(b"secret",)),  # type: ignore[arg-type]  # what a bug would do
    ]
    for one in leaky:
        with pytest.raises(LeakError) as raised:
            check_record(one)
        assert secret not in str(raised.value)


def records_of(kind: object) -> set[type]:
    """All records that a value of this type can hold."""
    found: set[type] = set()
    for inner in get_args(kind):
        found |= records_of(inner)
    if isinstance(kind, type) and is_dataclass(kind):
        found.add(kind)
        for hint in get_type_hints(kind).values():
            found |= records_of(hint)
    return found


def test_the_table_has_a_row_for_every_field_of_every_record_and_no_other() -> None:
    records = records_of(Session) | records_of(Card)
    assert {kind.__name__: {part.name for part in fields(kind)} for kind in records} == {
        kind: set(rows) for kind, rows in FIELDS.items()
    }


def test_a_field_that_the_table_does_not_know_stops_the_export(session: Session) -> None:
    grown = make_dataclass("Agent", [("agent", int), ("nickname", int)], frozen=True)
    with pytest.raises(LeakError, match=r"Agent\.nickname is in no row"):
        check_record(replace(session, agents=(grown(0, 1),)))


def test_a_record_that_the_table_does_not_know_stops_the_export(session: Session) -> None:
    stranger = make_dataclass("Stranger", [("number", int)], frozen=True)
    with pytest.raises(LeakError, match=r"Stranger\.number is in no row"):
        check_record(replace(session, agents=(stranger(1),)))


def test_numbers_with_a_fraction_and_bytes_are_refused(session: Session) -> None:
    for odd in (1.5, b"x", object()):
        with pytest.raises(LeakError, match=r"Request\.status holds neither"):
            check_record(replace(session, requests=(replace(session.requests[0], status=odd),)))  # type: ignore[arg-type]  # what a bug would do


def test_the_card_is_held_against_the_same_table() -> None:
    card = Card("agentreel 0.1.0", "deepseek-v4", "0" * 64, 64, counts={"requests": 1}, rejected={"title": 2})
    assert check_record(card)["Card.rejected"] == 1
    for leaky in (
        replace(card, tokenizer="/home/jane/tokenizer"),
        replace(card, created_by="jane"),
        replace(card, rejected={"jane": 1}),
        replace(card, fingerprint="jane"),
    ):
        with pytest.raises(LeakError):
            check_record(leaky)


def test_the_manual_shows_the_table_as_it_is() -> None:
    def said(treatment: Treatment) -> str:
        return treatment.kind + (f": {treatment.note}" if treatment.note else "")

    manual = (Path(__file__).resolve().parents[2] / "docs" / "privacy.md").read_text().splitlines()
    shown = [line for line in manual if re.match(r"\| [A-Z]\w+\.\w+ \|", line)]
    assert shown == [
        f"| {record}.{name} | {said(row.owner)} | {said(row.public)} |"
        for record, rows in FIELDS.items()
        for name, row in rows.items()
    ]


_WORDS = re.compile(r"[0-9a-f]{16,}|[A-Za-z0-9+/]{24,}|@|://|[/\\]\w", re.IGNORECASE)


@pytest.fixture
def plant() -> Callable[[], str]:
    """A fresh canary at every call."""
    numbers = count()
    return lambda: f"CANARY{next(numbers)}"


def planted_identity(plant: Callable[[], str], agent_id: str | None, parent: str | None) -> Identity:
    return Identity(
        session_id=plant(),
        agent_id=agent_id,
        parent_agent_id=parent,
        agent_name=plant(),
        agent_kind="subagent" if agent_id else "main",
        purpose="turn",
        turn_id=plant(),
        harness=plant(),
        harness_version=plant(),
        model=plant(),
    )


def planted(one: Exchange, plant: Callable[[], str], agent_id: str | None, parent: str | None) -> Exchange:
    """The exchange with a canary in every field of its records that can hold one."""
    assert one.response is not None
    identity = planted_identity(plant, agent_id, parent)
    headers = ((plant(), plant()), ("Content-Type", "text/event-stream"))
    request = replace(
        one.request, path=f"/{plant()}/v1/messages?{plant()}", upstream=plant(), headers=headers, identity=identity
    )
    return Exchange(request, replace(one.response, headers=headers, error=plant()))


def assert_no_canary(exchanges: list[Exchange]) -> None:
    assert b"CANARY" in exchanges[0].request.body
    done = anonymize(exchanges)
    assert done.session is not None
    assert len(done.session.requests) == len(exchanges)
    for text in (repr(done.session), repr(dict(done.rejected))):
        assert "canary" not in text.lower()
        assert not _WORDS.search(text)


def test_no_canary_of_a_claude_exchange_comes_out(plant: Callable[[], str]) -> None:
    call = {**tool_use(plant(), plant()), "input": {plant(): plant()}}
    image = {"type": "image", "source": {"type": "base64", "media_type": plant(), "data": plant()}}
    document = {"type": "document", "title": plant(), "context": plant(), "source": {"type": "url", "url": plant()}}
    thought = {"type": "thinking", "thinking": plant(), "signature": plant()}
    result = tool_result(
        call["id"], [{"type": "text", "text": f"agentId: {plant()}"}, image, {"type": plant(), "x": plant()}]
    )
    note = f"<task-notification><task-id>{plant()}</task-id><tool-use-id>{call['id']}</tool-use-id></task-notification>"
    body = {
        "model": plant(),
        "system": [
            {"type": "text", "text": f"x-anthropic-billing-header: {plant()}"},
            {"type": "text", "text": plant()},
        ],
        "tools": [{"name": plant(), "description": plant(), "input_schema": {"properties": {plant(): plant()}}}],
        "messages": [
            user(plant(), image, document),
            assistant(thought, plant(), call),
            user(result, f"<system-reminder>{plant()}{note}</system-reminder>", {"type": plant(), plant(): plant()}),
        ],
        "metadata": {"user_id": plant()},
        plant(): plant(),
    }
    answer = claude_answer({"type": "text", "text": plant()}, call, stop=plant())
    answer[0]["message"].update(id=plant(), model=plant())
    made = exchange(1, body, answer)
    again = exchange(3, body, answer)
    assert_no_canary([planted(made, plant, None, None), planted(again, plant, plant(), plant())])


def test_no_canary_of_a_codex_exchange_comes_out(plant: Callable[[], str]) -> None:
    call_id, custom = plant(), {"type": "custom_tool_call", "name": plant(), "call_id": plant(), "input": plant()}
    call = {
        "type": "function_call",
        "name": "spawn_agent",
        "namespace": plant(),
        "arguments": plant(),
        "call_id": call_id,
    }
    message = {"type": "agent_message", "author": plant(), "recipient": plant(), "content": []}
    sealed = {"type": "encrypted_content", "encrypted_content": plant()}
    body = {
        "model": plant(),
        "instructions": plant(),
        "input": [
            {"type": "additional_tools", "role": "developer", "tools": [{"type": plant(), "name": plant()}]},
            {"type": "message", "role": plant(), "content": [{"type": "input_text", "text": plant()}]},
            {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": plant()}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": plant()}], "encrypted_content": plant()},
            call,
            {"type": "function_call_output", "call_id": call_id, "output": f'{{"task_name":"{plant()}"}}'},
            {**message, "content": [{"type": "input_text", "text": plant()}, sealed]},
            {"type": plant(), plant(): plant()},
        ],
        "client_metadata": {"x-codex-turn-metadata": plant()},
        "prompt_cache_key": plant(),
    }
    answer = codex_answer(
        call, custom, {"type": "message", "role": plant(), "content": [{"type": plant(), "text": plant()}]}
    )
    answer[-1]["response"].update(model=plant(), id=plant(), status=plant())
    made = exchange(1, body, answer, path="/v1/responses")
    again = exchange(3, body, answer, path="/v1/responses")
    assert_no_canary([planted(made, plant, None, None), planted(again, plant, plant(), plant())])
