from __future__ import annotations

from typing import Any

from corpus.blocks import expand_blocks
from corpus.formats.dag_reader import sessions_of_conversations
from corpus.formats.dag_shape import parse_conversations
from corpus.session import Session
from corpus.soundness import find_flaw

Json = dict[str, Any]


def say(words: int, answer: int | None = None, role: str = "user", **more: Any) -> Json:
    asked = {} if answer is None else {"max_tokens": answer}
    return {"messages": [{"role": role, "content": " the" * words}], **asked, **more}


def read(*found: Json) -> list[Session]:
    read = list(sessions_of_conversations(parse_conversations((f"line {n}", told) for n, told in enumerate(found))))
    assert [find_flaw(session) for session in read] == [None] * len(read)
    return read


def conversation(name: str, *turns: Json, **more: Any) -> Json:
    return {"session_id": name, "turns": list(turns), **more}


def sizes(session: Session) -> list[tuple[int, int | None]]:
    return [(r.input_tokens, r.output_tokens) for r in session.requests]


def links(session: Session) -> list[tuple[int, int, str, int]]:
    return [(edge.src, edge.dst, edge.kind, edge.delay_us) for edge in session.edges]


def test_turns_add_to_what_was_said_and_answered() -> None:
    (session,) = read(conversation("a", say(100, 28), say(50, delay=1500), say(1, 7)))
    assert sizes(session) == [(100, 28), (178, None), (179, 7)]
    assert links(session) == [(0, 1, "sequence", 1_500_000), (1, 2, "sequence", 0)]
    assert [ids.tolist() for ids in expand_blocks([r.blocks for r in session.requests])] == [[1], [1, 2], [1, 2]]


def test_whole_prompts_are_not_added_up() -> None:
    mode = {"context_mode": "message_array_with_responses"}
    (session,) = read(conversation("a", say(100, 28), say(150), **mode))
    assert sizes(session) == [(100, 28), (150, None)]


def test_spawned_children_start_fresh_and_join_where_they_say() -> None:
    spawn: Json = {"spawns": ["b", {"children": ["c"], "join_at": 2}]}
    (session,) = read(
        conversation("a", say(10, **spawn), say(10), say(10)),
        conversation("b", say(5, delay=2)),
        conversation("c", say(6)),
    )
    assert [(a.parent, a.kind) for a in session.agents] == [(None, "main"), (0, "subagent"), (0, "subagent")]
    by_place = {r.position: r for r in session.requests}
    assert [by_place[n].input_tokens for n in range(5)] == [10, 5, 6, 20, 30]
    named = {(by_place_of(session, e.src), by_place_of(session, e.dst), e.kind) for e in session.edges}
    assert named == {
        (0, 1, "spawn"),
        (0, 2, "spawn"),
        (0, 3, "sequence"),
        (1, 3, "join"),
        (3, 4, "sequence"),
        (2, 4, "join"),
    }


def by_place_of(session: Session, request: int) -> int:
    return session.requests[request].position


def test_forks_inherit_what_was_said_and_answered_and_never_join() -> None:
    (session,) = read(conversation("a", say(100, 28, forks=["b"])), conversation("b", say(5)))
    assert sizes(session) == [(100, 28), (133, None)]
    assert [a.kind for a in session.agents] == ["main", "fork"]
    assert [(e.kind, e.evidence) for e in session.edges] == [("spawn", "fork")]


def test_children_before_the_session_wait_for_nobody() -> None:
    (session,) = read(conversation("a", say(9), pre_session_spawns=["b"]), conversation("b", say(5)))
    assert session.edges == ()
    assert [a.parent for a in session.agents] == [None, 0]


def test_conversations_that_nobody_starts_are_sessions() -> None:
    first, second = read(conversation("a", say(1)), conversation("b", say(1, model="m")))
    assert [(s.session, s.label, s.models) for s in (first, second)] == [(0, "a", ("other",)), (1, "b", ("m",))]


def test_answers_are_nobody_elses_and_roles_tell_equal_words_apart() -> None:
    branch = say(64, 64, spawns=["b"])
    (session,) = read(conversation("a", branch, say(64)), conversation("b", say(64, 64), say(64)))
    lists = [ids.tolist() for ids in expand_blocks([r.blocks for r in session.requests])]
    own = {r.position: lists[r.request] for r in session.requests}
    assert own[0] == own[1]  # the same first words
    assert own[2][1] != own[3][1]  # after other answers
    (session,) = read(conversation("a", say(64), say(0)), conversation("x", say(64, role="system")))[:1]
    assert session.requests[0].segments is not None
    assert session.requests[0].segments.roles == ("user",)


def test_all_a_message_says_is_counted() -> None:
    parts = [{"type": "text", "text": " the the"}, {"type": "image_url", "image_url": {"url": "x"}}]
    turn = {"messages": [{"role": "user", "content": parts}, {"role": "assistant", "tool_calls": [{"id": "1"}]}]}
    (session,) = read(conversation("a", turn))
    assert session.requests[0].input_tokens > 10
    assert session.requests[0].segments is not None
    assert session.requests[0].segments.roles == ("user", "assistant")
