from __future__ import annotations

from dataclasses import replace
from typing import Any

from corpus.formats.mooncake_export import export_rows
from corpus.formats.trace_rows import Tally
from corpus.session import Edge, MooncakeDialect, Session
from tests.corpus.formats.sessions import make_session

Json = dict[str, Any]


def export(dialect: MooncakeDialect, *sessions: Session) -> list[Json]:
    return list(export_rows(sessions, dialect, Tally()))


def pick(rows: list[Json], *keys: str) -> list[list[Any]]:
    return [[row.get(key) for key in keys] for row in rows]


def growing(number: int = 0) -> Session:
    """Three steps, the last one after a compaction; a title; half a second between all."""
    rows = [
        {
            "t_start_us": n * 1_500_000,
            "t_end_us": n * 1_500_000 + 1_000_000,
            "input_tokens": tokens,
            "output_tokens": 64,
        }
        for n, tokens in enumerate((640, 100, 1280, 320))
    ]
    rows[1]["purpose"] = "title"  # type: ignore[assignment]  # other fields are numbers
    prompts = [list(range(1, 11)), [50], list(range(1, 21)), [1, 2, 60, 61, 62]]
    session = make_session(rows, prompts, number)
    edges = (Edge(0, 1, "aux", 500_000, "end", "timing"), Edge(0, 2, "sequence", 2_000_000, "end", "id"))
    return replace(session, edges=(*edges, Edge(2, 3, "sequence", 500_000, "end", "id")))


def test_plain_rows_come_by_time_whatever_session_they_are_of() -> None:
    rows = export("plain", growing(0), growing(1))
    assert pick(rows, "timestamp", "input_length") == [
        [t, tokens] for t, tokens in ((0, 640), (1500, 100), (3000, 1280), (4500, 320)) for _ in range(2)
    ]
    assert rows[0] == {"timestamp": 0, "input_length": 640, "output_length": 64, "hash_ids": [0, 1]}
    first, second = ({id_ for row in rows[n::2] for id_ in row["hash_ids"]} for n in (0, 1))
    assert first.isdisjoint(second)


def test_turns_of_a_session_wait_from_answer_to_request() -> None:
    rows = export("sessions", growing())
    assert pick(rows, "session_id", "timestamp", "delay", "input_length", "context_mode") == [
        ["session-1", 0, None, 640, "message_array_with_responses"],
        ["session-1", None, 2000, 1280, "message_array_with_responses"],
        ["session-1", None, 500, 320, "message_array_with_responses"],
        ["session-1::aside_0001", 1500, None, 100, "message_array_with_responses"],
    ]


def test_delta_says_what_is_new_and_goes_on_under_a_new_name_after_a_compaction() -> None:
    rows = export("delta", growing())
    assert pick(rows, "session_id", "timestamp", "delay", "input_length") == [
        ["session-1", 0, None, 640],
        ["session-1", None, 2000, 1280 - 640 - 64],
        ["session-1~2", 4500, None, 320],
        ["session-1::aside_0001", 1500, None, 100],
    ]
    assert [len(row["hash_ids"]) for row in rows] == [2, 2, 1, 1]


def test_who_asks_for_nothing_gets_one_token() -> None:
    assert export("plain", make_session([{"output_tokens": 0}], [[1]]))[0]["output_length"] == 1


def test_the_cut_last_block_of_a_delta_is_no_block_of_a_whole_list() -> None:
    twice = [growing(), replace(growing(), session=1)]
    last = [row["hash_ids"][-1] for row in export("delta", *twice) if "delay" in row]
    others = [id_ for row in export("delta", *twice) for id_ in row["hash_ids"]]
    assert [others.count(id_) for id_ in last] == [1, 1]
