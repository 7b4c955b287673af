from __future__ import annotations

from dataclasses import replace
from typing import Any

from corpus.formats.dag_export import _WORDS, export_conversations
from corpus.formats.trace_rows import Tally
from corpus.session import Edge, Session
from corpus.tokenizer import load_tokenizer
from tests.corpus.formats.sessions import linked, make_session

Json = dict[str, Any]


def export(*sessions: Session) -> dict[str, list[Json]]:
    return {told["session_id"]: told["turns"] for told in export_conversations(sessions, Tally())}


def words(turn: Json) -> list[str]:
    (message,) = turn["messages"]
    assert message["role"] == "user"
    split: list[str] = message["content"].split()
    return split


def steps(*agents_and_tokens: tuple[int, int], prompts: list[list[int]]) -> Session:
    rows = [
        {"agent": a, "t_start_us": n * 2_000_000, "t_end_us": n * 2_000_000 + 1_000_000, "input_tokens": t}
        for n, (a, t) in enumerate(agents_and_tokens)
    ]
    return linked(make_session(rows, prompts))


def test_each_word_is_one_token_for_the_default_tokenizer() -> None:
    tokenizer = load_tokenizer()
    turns = export(steps((0, 5000), prompts=[list(range(78))]))["session-1"]
    assert len(words(turns[0])) == 5000
    assert len(tokenizer.encode(turns[0]["messages"][0]["content"])) == 5000
    assert set(words(turns[0])) == set(_WORDS)


def test_a_turn_says_what_is_new_since_the_answer() -> None:
    turns = export(steps((0, 130), (0, 200), prompts=[[1, 2], [1, 2, 3]]))["session-1"]
    assert [len(words(turn)) for turn in turns] == [130, 69]
    assert [turn.get("delay") for turn in turns] == [None, 1000]
    assert [turn["max_tokens"] for turn in turns] == [1, 1]
    assert turns[0]["model"] == "claude-opus-4-5"


def test_equal_blocks_read_equal_in_a_session_only() -> None:
    session = steps((0, 128), (1, 128), prompts=[[1, 2], [1, 3]])
    found = export(session, replace(session, session=1))
    one, other = (words(found[name][0]) for name in ("session-1", "session-1::agent_001"))
    assert one[:64] == other[:64]
    assert one[64:] != other[64:]
    assert words(found["session-2"][0]) != one


def test_a_compaction_goes_on_in_a_conversation_of_its_own() -> None:
    found = export(steps((0, 640), (0, 128), (0, 192), prompts=[list(range(10)), [0, 20], [0, 20, 21]]))
    assert list(found) == ["session-1", "session-1~2"]
    assert found["session-1"][0]["spawns"] == ["session-1~2"]
    assert [turn["delay"] for turn in found["session-1~2"]] == [1000, 1000]


def test_children_join_at_their_turn_or_at_the_last() -> None:
    session = steps((0, 64), (1, 64), (0, 128), (0, 192), prompts=[[1], [9], [1, 2], [1, 2, 3]])
    assert export(session)["session-1"][0]["spawns"] == [{"children": ["session-1::agent_001"], "join_at": 1}]
    lonely = replace(session, edges=tuple(edge for edge in session.edges if edge.kind != "join"))
    assert export(lonely)["session-1"][0]["spawns"] == [{"children": ["session-1::agent_001"], "join_at": 2}]
    assert export(session)["session-1::agent_001"][0]["delay"] == 1000


def test_child_of_the_last_turn_joins_nothing() -> None:
    session = steps((0, 64), (1, 64), prompts=[[1], [9]])
    assert export(session)["session-1"][0]["spawns"] == ["session-1::agent_001"]


def test_an_aside_is_a_child_of_one_turn() -> None:
    session = steps((0, 64), (0, 70), (0, 128), prompts=[[1], [5], [1, 2]])
    aside = replace(session.requests[1], purpose="title")
    session = replace(
        session,
        requests=(session.requests[0], aside, session.requests[2]),
        edges=(Edge(0, 1, "aux", 1, "end", "timing"), Edge(0, 2, "sequence", 3_000_000, "end", "id")),
    )
    found = export(session)
    assert found["session-1"][0]["spawns"] == [{"children": ["session-1::aside_0001"], "join_at": 1}]
    assert len(found["session-1::aside_0001"]) == 1


def test_agents_that_nobody_spawned_are_conversations_that_nobody_starts() -> None:
    session = replace(steps((0, 64), (1, 64), prompts=[[1], [9]]), edges=())
    assert [turn.get("spawns") for turns in export(session).values() for turn in turns] == [None, None]
