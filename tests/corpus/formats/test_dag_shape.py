from __future__ import annotations

from typing import Any

import pytest

from corpus.errors import InputError
from corpus.formats.dag_shape import Branch, branches, parse_conversations, started

Json = dict[str, Any]
SAY: Json = {"messages": [{"role": "user", "content": "hi"}]}


def conversation(name: str, *turns: Json, **more: Any) -> Json:
    return {"session_id": name, "turns": list(turns or (SAY,)), **more}


def parse(*found: object) -> list[str]:
    return list(parse_conversations((f"line {n}", value) for n, value in enumerate(found, start=1)))


def test_branches_are_read_in_all_their_spellings() -> None:
    turn = {
        "spawns": ["a", {"children": ["b", "c"], "join_at": 7}, {"children": ["d"]}],
        "forks": ["e", {"child": "f"}],
    }
    assert list(branches(turn, 2)) == [
        Branch("a", 3, fork=False),
        Branch("b", 7, fork=False),
        Branch("c", 7, fork=False),
        Branch("d", 3, fork=False),
        Branch("e", None, fork=True),
        Branch("f", None, fork=True),
    ]
    assert list(started({"turns": [turn], "pre_session_spawns": ["p"]})) == ["p", "a", "b", "c", "d", "e", "f"]


def test_good_conversations_are_taken() -> None:
    many = conversation("a", {**SAY, "spawns": ["b"], "delay": 5, "extra": {"x": 1}}, SAY, think_time_ms=1)
    assert parse(many, conversation("b")) == ["a", "b"]


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        ([[]], "line 1: must be an object"),
        ([{"turns": [SAY]}], "line 1: session_id: is missing"),
        ([conversation("a"), conversation("a")], "line 2: session_id: 'a' is there twice"),
        ([{"session_id": "a", "turns": []}], "line 1: turns: holds no turn"),
        ([conversation("a", orchestrator=True)], "line 1: orchestrator: conducts others"),
        ([conversation("a", SAY, {"messages": [{}]})], r"line 1: turns\[1\].messages\[0\]: is no message with a role"),
        ([conversation("a", {"role": "user"})], r"line 1: turns\[0\].role: is not a dag_jsonl key"),
        ([conversation("a", {**SAY, "delay": -1})], r"line 1: turns\[0\].delay: must be milliseconds"),
        ([conversation("a", {**SAY, "max_tokens": True})], r"turns\[0\].max_tokens: must be a whole number from 1"),
        ([conversation("a", {**SAY, "spawns": [5]})], r"turns\[0\].spawns\[0\]: must be a session_id or an object"),
        ([conversation("a", {**SAY, "spawns": [{"children": [5]}]})], r"spawns\[0\]\[0\]: must be a string, is 5"),
        (
            [conversation("a", {**SAY, "spawns": [{"children": ["a"], "join_at": -1}]})],
            r"spawns\[0\]: must be a whole number from 0",
        ),
        ([conversation("a", {**SAY, "forks": [{"children": []}]})], r"forks\[0\]: must be a session_id or an object"),
        ([conversation("a", {**SAY, "spawns": ["b"]})], "line 1: starts 'b', which is not there"),
        (
            [
                conversation("a", {**SAY, "spawns": ["c"]}),
                conversation("b", {**SAY, "forks": ["c"]}),
                conversation("c"),
            ],
            "line 2: starts 'c', which 'a' starts as well",
        ),
        (
            [conversation("a", {**SAY, "spawns": ["b"]}), conversation("b", {**SAY, "spawns": ["a"]})],
            "starts itself by way of its children",
        ),
    ],
)
def test_broken_conversations_are_one_line_that_names_the_place(found: list[Json], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        parse(*found)
    assert "\n" not in str(caught.value)
