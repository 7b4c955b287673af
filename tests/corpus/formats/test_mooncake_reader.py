from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corpus.blocks import expand_blocks
from corpus.formats.mooncake_reader import Line, detect_dialect, fit_block_size, sessions_of_lines
from corpus.session import Edge, MooncakeDialect, Session

Json = dict[str, Any]


def read(dialect: MooncakeDialect | None, *rows: Json) -> list[Session]:
    lines = [Line(f"line {n}", {"output_length": 10, **row}) for n, row in enumerate(rows)]
    return list(sessions_of_lines(lines, Path("t.jsonl"), dialect))


def prompts(session: Session) -> list[list[int]]:
    return [ids.tolist() for ids in expand_blocks([r.blocks for r in session.requests])]


@pytest.mark.parametrize(
    ("tokens", "blocks", "size"),
    [
        ([1000, 6758], [2, 14], 512),
        ([1000, 6758], [1, 13], 512),  # rounded down
        ([1000, 6758], [16, 106], 64),
        ([100, 200], [7, 13], 16),
        ([], [], 512),
        ([10], [1], 512),  # fits any: the format's own
        ([6758, 6758, 5], [14, 13, 9], 512),  # one odd list does not decide
    ],
)
def test_block_size_is_what_the_lists_fit(tokens: list[int], blocks: list[int], size: int) -> None:
    rows = [{"input_length": t, "hash_ids": list(range(n))} for t, n in zip(tokens, blocks, strict=True)]
    assert fit_block_size(rows) == size


def test_dialects_differ_by_keys_and_delta_by_its_lists() -> None:
    turn = {"session_id": "a", "input_length": 9, "hash_ids": [1]}
    assert detect_dialect([{"input_length": 9}]) == "plain"
    assert detect_dialect([turn]) == "sessions"
    assert detect_dialect([turn, {**turn, "hash_ids": [1, 2]}, {**turn, "hash_ids": [5]}]) == "sessions"
    assert detect_dialect([turn, {**turn, "hash_ids": [2]}]) == "delta"
    assert detect_dialect([turn, {**turn, "wait_for": []}]) == "agentic"


def test_turns_wait_for_each_other_by_delay_or_by_the_clock() -> None:
    (session,) = read(
        "sessions",
        {"session_id": "a", "timestamp": 100, "input_length": 9},
        {"session_id": "a", "delay": 2.5, "input_length": 9},
        {"session_id": "a", "timestamp": 200, "input_length": 9},
    )
    assert [r.t_start_us for r in session.requests] == [0, 2500, 100_000]
    assert session.edges == (
        Edge(0, 1, "sequence", 2500, "end", "id"),
        Edge(1, 2, "sequence", 97_500, "end", "id"),
    )


def test_delta_grows_by_the_answer_and_the_new_part() -> None:
    (session,) = read(
        "delta",
        {"session_id": "a", "timestamp": 0, "input_length": 128, "output_length": 64, "hash_ids": [1, 2]},
        {"session_id": "a", "delay": 5, "input_length": 64, "hash_ids": [3]},
    )
    assert session.block_size == 64
    assert [r.input_tokens for r in session.requests] == [128, 256]
    assert [ids[:2] for ids in prompts(session)] == [[1, 2], [1, 2]]
    assert prompts(session)[1][-1] == 3


def test_answers_of_a_delta_get_ids_that_nobody_else_has() -> None:
    rows = [
        {"session_id": s, "timestamp": 0, "input_length": 1024, "output_length": 2048, "hash_ids": [1, 2]} for s in "ab"
    ]
    more = [{"session_id": s, "delay": 0, "input_length": 512, "hash_ids": [3 + n]} for n, s in enumerate("ab")]
    (session,) = read("delta", *rows, *more)  # one session: they share their beginnings
    long = [ids for ids in prompts(session) if len(ids) > 2]
    assert [len(ids) for ids in long] == [7, 7]
    assert set(long[0][2:]).isdisjoint(long[1][2:])


def test_rows_of_a_graph_wait_for_delay_and_tools_together() -> None:
    (session,) = read(
        None,
        {"request_id": "a", "session_id": "m", "timestamp": 0, "input_length": 9},
        {"request_id": "b", "session_id": "c", "wait_for": ["a"], "delay": 1, "tool_wait_ms": 2, "input_length": 9},
        {"request_id": "c", "session_id": "m", "wait_for": ["a", "b", "b"], "delay": 4, "input_length": 9},
    )
    assert [r.t_start_us for r in session.requests] == [0, 3000, 7000]
    assert [(e.src, e.dst, e.kind, e.delay_us) for e in session.edges] == [
        (0, 1, "spawn", 3000),
        (0, 2, "sequence", 4000),
        (1, 2, "join", 4000),
    ]


def test_row_may_wait_for_a_later_line() -> None:
    (session,) = read(
        None,
        {"request_id": "b", "timestamp": 5, "wait_for": ["a"], "input_length": 9},
        {"request_id": "a", "timestamp": 1, "input_length": 9},
    )
    assert [(e.src, e.dst) for e in session.edges] == [(0, 1)]
    assert [r.position for r in session.requests] == [1, 0]
