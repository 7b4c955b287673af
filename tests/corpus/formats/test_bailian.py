from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.formats.bailian import is_bailian, read_bailian, write_bailian
from corpus.formats.trace_rows import Written, answered_part
from corpus.session import Edge, Session
from corpus.soundness import find_flaw
from tests.corpus.formats.sessions import dump, load, make_session, sessions

Json = dict[str, Any]

ROW: Json = {
    "chat_id": 159,
    "parent_chat_id": -1,
    "timestamp": 61.114,
    "input_length": 521,
    "output_length": 132,
    "type": "text",
    "turn": 1,
    "hash_ids": [1089, 1090],
}


@st.composite
def files(draw: st.DrawFn) -> list[Json]:
    """Rows whose parents are earlier rows, missing rows, or nobody."""
    rows: list[Json] = []
    for n in range(draw(st.integers(1, 8))):
        row = {
            "chat_id": 10 * n + 3,
            "parent_chat_id": draw(st.sampled_from([-1, 7, *(earlier["chat_id"] for earlier in rows)])),
            "timestamp": draw(st.floats(0, 1e6) | st.integers(0, 9)),
            "input_length": draw(st.integers(0, 999)),
            "output_length": draw(st.integers(0, 999)),
            "hash_ids": draw(st.lists(st.integers(0, 30), max_size=5)),
        }
        rows.append(row | draw(st.fixed_dictionaries({}, optional={"turn": st.integers(0, 3), "type": st.text()})))
    return draw(st.permutations(rows))


@given(files())
def test_any_rows_come_back_equal_and_their_sessions_are_sound(
    tmp_path_factory: pytest.TempPathFactory, found: list[Json]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    read = list(read_bailian(dump(folder / "in.jsonl", *found)))
    assert [find_flaw(session) for session in read] == [None] * len(read)
    write_bailian(folder / "out.jsonl", read)
    assert load(folder / "out.jsonl") == found


@given(sessions())
def test_exported_sessions_keep_prompts_answers_and_count(
    tmp_path_factory: pytest.TempPathFactory, session: Session
) -> None:
    path = tmp_path_factory.mktemp("export") / "out.jsonl"
    kept = answered_part(session)
    assert write_bailian(path, [session]) == Written(1, len(kept.requests), 0, 0)
    back = list(read_bailian(path))
    assert [find_flaw(found) for found in back] == [None] * len(back)
    lengths = [(r.input_tokens, r.output_tokens) for found in back for r in found.requests]
    assert sorted(lengths) == sorted((r.input_tokens, r.output_tokens) for r in kept.requests)


def test_a_chat_is_an_agent_and_each_turn_waits_for_its_parent(tmp_path: Path) -> None:
    follow = {**ROW, "chat_id": 160, "parent_chat_id": 159, "timestamp": 70, "turn": 2, "type": "search"}
    again = {**follow, "chat_id": 161, "timestamp": 71.5}
    other = {**ROW, "chat_id": 1, "hash_ids": [7]}
    first, second = read_bailian(dump(tmp_path / "t.jsonl", ROW, follow, again, other))
    assert (first.label, first.block_size, len(first.agents)) == ("159", 16, 1)
    assert first.edges == (
        Edge(0, 1, "sequence", 8_886_000, "end", "id"),
        Edge(0, 2, "sequence", 10_386_000, "end", "id"),
    )
    assert [r.input_kinds for r in first.requests] == [("text",), ("search",), ("search",)]
    assert (second.label, second.edges) == ("1", ())


def test_exported_turns_follow_the_step_before_or_the_one_that_spawned_them(tmp_path: Path) -> None:
    rows = [{"agent": agent, "t_start_us": n * 1_000_000, "input_tokens": 100} for n, agent in enumerate((0, 1, 1, 0))]
    session = make_session(rows, [[1], [2], [2], [1]])
    kinds = ((0, 1, "spawn"), (1, 2, "sequence"), (0, 3, "sequence"), (2, 3, "join"))
    session = replace(session, edges=tuple(Edge(a, b, kind, 1, "end", "id") for a, b, kind in kinds))  # type: ignore[arg-type]  # plain words
    write_bailian(tmp_path / "out.jsonl", [session])
    found = load(tmp_path / "out.jsonl")
    assert [(r["chat_id"], r["parent_chat_id"], r["turn"], r["timestamp"], r["type"]) for r in found] == [
        (0, -1, 1, 0, "text"),
        (1, 0, 2, 1, "text"),
        (2, 1, 3, 2, "text"),
        (3, 0, 2, 3, "text"),
    ]
    assert [len(r["hash_ids"]) for r in found] == [7, 7, 7, 7]
    assert found[0]["hash_ids"] == found[3]["hash_ids"]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"chat_id": "1"}, 'line 2: chat_id: must be a whole number, is "1"'),
        ({"timestamp": -2}, "line 2: timestamp: must be seconds from 0"),
        ({"input_length": None}, "line 2: input_length: must be a whole number from 0, is null"),
        ({"hash_ids": 5}, "line 2: hash_ids: must be a list of block ids"),
        ({}, "line 2: chat_id: 159 is already the id of another row"),
        ({"chat_id": 5, "parent_chat_id": 5}, "chat 5 follows itself by way of its parents"),
    ],
)
def test_broken_rows_are_one_line_that_names_the_place(tmp_path: Path, changed: Json, complaint: str) -> None:
    with pytest.raises(InputError, match=rf"bad\.jsonl: {complaint}"):
        list(read_bailian(dump(tmp_path / "bad.jsonl", ROW, ROW | changed)))


def test_missing_keys_and_empty_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: parent_chat_id: is missing"):
        list(read_bailian(dump(tmp_path / "a.jsonl", {k: v for k, v in ROW.items() if k != "parent_chat_id"})))
    with pytest.raises(InputError, match="holds no Bailian row"):
        list(read_bailian(dump(tmp_path / "b.jsonl")))


def test_bailian_is_told_from_other_files(tmp_path: Path) -> None:
    assert is_bailian(dump(tmp_path / "a.jsonl", ROW))
    assert not is_bailian(dump(tmp_path / "b.jsonl", {"timestamp": 0, "input_length": 1}))
    assert not is_bailian(tmp_path)
