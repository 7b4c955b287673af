from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from anonymize.families import Opening, as_member, find_opening, group_families
from corpus.blocks import expand_blocks
from corpus.exchange import Exchange, Identity
from tests.anonymize.exchanges import (
    assistant,
    by_session,
    claude_answer,
    claude_body,
    claude_capture,
    codex_capture,
    exchange,
    session_of,
    tool_result,
    tool_use,
    user,
)


def turn(at: float, session_id: str, messages: Sequence[Any], *answer: Any) -> Exchange:
    identity = Identity(session_id=session_id, purpose="turn")
    body = claude_body(messages, system="be kind " * 60)
    return exchange(at, body, claude_answer(*(answer or (text("hello"),))), identity=identity)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def opening(exchanges: Iterable[Exchange]) -> Opening:
    found = find_opening(exchanges)
    assert found is not None
    return found


def families(*sessions: Iterable[Exchange]) -> list[tuple[str | None, ...]]:
    return group_families(map(opening, sessions))


START = [user("hi")]
LATER = [*START, assistant("hello"), user("and now")]


def test_a_session_that_begins_with_anothers_history_is_its_fork() -> None:
    assert families([turn(5, "b", LATER)], [turn(1, "a", START)]) == [("a", "b")]


def test_the_same_first_words_make_no_family() -> None:
    assert families([turn(1, "a", START)], [turn(5, "b", START)]) == []


def test_another_answer_makes_no_family() -> None:
    assert families([turn(1, "a", START, text("good day"))], [turn(5, "b", LATER)]) == []


def test_a_fork_cannot_be_older_than_its_origin() -> None:
    assert families([turn(5, "a", START)], [turn(1, "b", LATER)]) == []


def test_a_fork_of_a_fork_joins_the_same_family() -> None:
    further = [*LATER, assistant("hello"), user("more")]
    assert families([turn(1, "a", START)], [turn(3, "b", LATER)], [turn(7, "c", further)]) == [("a", "b", "c")]


def test_of_two_equal_origins_the_later_one_is_meant() -> None:
    assert families([turn(1, "a", START)], [turn(2, "b", START)], [turn(5, "c", LATER)]) == [("b", "c")]


def test_calls_are_recognised_by_id_although_clients_add_to_their_arguments() -> None:
    call, added = tool_use("t1", "Edit", path="x"), tool_use("t1", "Edit", replace_all=False, path="x")
    history = [*START, assistant(added), user(tool_result("t1", "done"))]
    assert families([turn(1, "a", START, call)], [turn(5, "b", history)]) == [("a", "b")]
    other = [*START, assistant(tool_use("t2", "Edit", path="x")), user(tool_result("t2", "done"))]
    assert families([turn(1, "a", START, call)], [turn(5, "b", other)]) == []


def test_thoughts_that_were_dropped_on_the_way_do_not_matter() -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    assert families([turn(1, "a", START, thought, text("hello"))], [turn(5, "b", LATER)]) == [("a", "b")]


def test_an_answer_that_was_not_heard_is_no_evidence() -> None:
    origin = turn(1, "a", START)
    assert origin.response is not None
    whole = opening([origin])
    assert group_families([replace(whole, answer=()), opening([turn(5, "b", LATER)])]) == []


def test_the_family_is_one_session_whose_shared_prefix_stays_shared() -> None:
    origin, fork = [turn(1, "a", START)], [turn(5, "b", LATER), turn(6, "b", [*LATER, assistant("hello"), user("x")])]
    child = turn(7, "b", [user("go")])
    identity = Identity(session_id="b", agent_id="x", agent_kind="subagent", purpose="turn")
    child = Exchange(replace(child.request, identity=identity), child.response)
    session = session_of([as_member(one, "a") for one in (*origin, *fork, child)])
    assert [(one.kind, one.parent) for one in session.agents] == [("main", None), ("fork", 0), ("subagent", 1)]
    first, *later, _ = expand_blocks([request.blocks for request in session.requests])
    assert len(first) > 1
    assert all(np.array_equal(blocks[: len(first)], first) for blocks in later)


@pytest.mark.parametrize("scenario", ["http_resume", "app_http"])
def test_recorded_codex_forks_join_their_origin(scenario: str) -> None:
    sessions = list(by_session(codex_capture(scenario)))
    assert [len(family) for family in families(*sessions)] == [2]


def test_a_recorded_claude_code_fork_joins_its_origin() -> None:
    """Several runs of the client with clocks of their own: the order of the file's conversations is by length."""
    sessions = list(by_session(claude_capture("base_resume_fork_session_compact")))
    made = []
    for one in sessions:
        by_size = sorted(one, key=lambda e: e.request.body_bytes)
        shortest = next(e for e in by_size if is_opening_of(e))
        made.append([Exchange(replace(shortest.request, t_request_us=shortest.request.body_bytes), shortest.response)])
    assert len(families(*made)) == 1


def is_opening_of(one: Exchange) -> bool:
    return find_opening([one]) is not None


def test_an_answer_that_broke_off_gives_way_to_the_attempt_that_did_not() -> None:
    whole = turn(2, "a", START)
    cut = turn(1, "a", START, text("hel"))
    assert cut.response is not None
    broken = Exchange(cut.request, replace(cut.response, end="upstream_reset"))
    assert opening([broken, whole]) == opening([whole])
    assert opening([broken]).answer != opening([whole]).answer
    assert find_opening([]) is None


def test_no_more_is_taken_than_the_first_answered_turn() -> None:
    taken = iter([turn(1, "a", START), turn(2, "a", LATER)])
    assert opening(taken) == opening([turn(1, "a", START)])
    assert next(taken).request.t_request_us == 2_000_000
