from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import expand_blocks
from corpus.errors import InputError
from corpus.formats.mooncake import is_mooncake, read_mooncake, write_mooncake
from corpus.formats.mooncake_graph import export_plays
from corpus.formats.trace_rows import Tally, answered_part
from corpus.formats.weka import is_weka
from corpus.session import Edge, Session
from corpus.soundness import find_flaw
from tests.corpus.formats.sessions import dump, load, make_session, sessions

Json = dict[str, Any]

HEADER: Json = {
    "schema": "dynamo.agentic_mooncake",
    "version": 2,
    "block_size": 64,
    "hash_id_scope": "local",
    "source": {"format": "elsewhere", "digest": "d"},
}


def row(name: str, *waits: Json, play: str = "p", **changed: Any) -> Json:
    plain = {"request_id": name, "play_id": play, "session_id": "main", "model": "m", "input_length": 130}
    waiting = {"dependencies": list(waits)} if waits else {}
    return plain | {"output_length": 7, "hash_ids": [1, 2, 3], "not_before_ms": 0} | waiting | changed


def wait(name: str, delay_ms: float = 5, trigger: str = "completion", relation: str = "sequence") -> Json:
    return {"request_id": name, "trigger": trigger, "delay_ms": delay_ms, "relation": relation}


def read(path: Path, *rows: Json) -> list[Session]:
    return list(read_mooncake(dump(path / "t.jsonl", HEADER, *rows)))


def export(*found: Session) -> list[Json]:
    return list(export_plays(found, Tally()))


def stepped(anchor: str = "end") -> Session:
    session = make_session(
        [
            {"t_start_us": 0, "t_end_us": 1_000_000, "input_tokens": 130},
            {"t_start_us": 1_500_000, "t_end_us": 1_750_000, "input_tokens": 200},
        ],
        [[1, 2], [1, 2, 3]],
    )
    return replace(session, edges=(Edge(0, 1, "sequence", 500_000, anchor, "id"),))  # type: ignore[arg-type]


def test_a_row_waits_for_each_of_its_edges() -> None:
    header, first, second = export(stepped())
    assert (header["version"], header["block_size"], header["hash_id_scope"]) == (2, 64, "local")
    assert first["not_before_ms"] == 0
    assert "dependencies" not in first
    assert first["recorded_api_time_ms"] == 1000
    assert second["dependencies"] == [wait("session-1#0", 500)]


def test_who_waits_for_a_start_says_so() -> None:
    assert export(stepped("start"))[2]["dependencies"] == [wait("session-1#0", 500, "dispatch")]


def test_lists_are_rounded_up_and_keep_shared_prefixes() -> None:
    _, first, second = export(stepped())
    assert [len(one["hash_ids"]) for one in (first, second)] == [3, 4]
    assert first["hash_ids"][:2] == second["hash_ids"][:2]
    assert first["hash_ids"][2] not in second["hash_ids"]


def test_failed_attempts_stay_behind_and_are_counted(captured: Session) -> None:
    tally = Tally()
    assert len(list(export_plays([captured], tally))) == 1 + 6
    assert tally.written().left_out_requests == 1


def test_starts_follow_from_waits_answers_and_the_clock(tmp_path: Path) -> None:
    (session,) = read(
        tmp_path,
        row("c", wait("b"), wait("a", 1, "dispatch", "join"), not_before_ms=400, session_id="other"),
        row("b", wait("a", 2.5)),
        row("a", not_before_ms=100, recorded_api_time_ms=50),
    )
    assert [r.t_start_us for r in session.requests] == [0, 52_500, 300_000]
    assert [r.t_end_us for r in session.requests] == [50_000, None, None]
    assert [(e.src, e.dst, e.kind, e.anchor, e.delay_us) for e in session.edges] == [
        (0, 1, "sequence", "end", 2500),
        (1, 2, "sequence", "end", 5000),
        (0, 2, "join", "start", 1000),
    ]


def test_plays_are_sessions_whose_ids_do_not_meet(tmp_path: Path) -> None:
    found = read(tmp_path, row("a"), row("b", play="q"))
    assert [(session.label, len(session.requests)) for session in found] == [("p", 1), ("q", 1)]
    assert [expand_blocks([r.blocks for r in s.requests])[0].tolist() for s in found] == [[1, 2, 3]] * 2


def test_it_is_told_from_a_weka_trace(tmp_path: Path) -> None:
    path = dump(tmp_path / "t.jsonl", HEADER, row("a"))
    assert is_mooncake(path)
    assert not is_weka(path)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ((), "no request"),
        ((row("a", wait("b")),), "no row of the play"),
        ((row("a"), row("b", wait("a"), play="q")), "no row of the play"),
        ((row("a", wait("a")),), "circle"),
        ((row("a", wait("b")), row("b", wait("a"))), "circle"),
        ((row("a"), row("a")), "already the id"),
        ((row("a"), row("b", wait("a", -1))), "milliseconds"),
        ((row("a"), row("b", wait("a", 1, "hope"))), "known trigger"),
        ((row("a"), row("b", {"request_id": "a"})), "trigger"),
        ((row("a", input_length=None),), "input_length"),
        ((row("a", output_token_ids=[5]),), "output_token_ids: is text"),
    ],
)
def test_broken_files_are_refused_in_one_line(tmp_path: Path, rows: tuple[Json, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, *rows)


@pytest.mark.parametrize("changed", [{"version": 3}, {"hash_id_scope": "global"}, {"block_size": 0}])
def test_other_versions_scopes_and_sizes_are_refused(tmp_path: Path, changed: Json) -> None:
    with pytest.raises(InputError):
        list(read_mooncake(dump(tmp_path / "t.jsonl", HEADER | changed, row("a"))))


@st.composite
def files(draw: st.DrawFn) -> list[Json]:
    rows: list[Json] = []
    for n in range(draw(st.integers(1, 7))):
        play = draw(st.sampled_from("pq"))
        before = [one["request_id"] for one in rows if one["play_id"] == play]
        waits = [
            wait(
                name,
                draw(st.integers(0, 5000)) / 8,
                draw(st.sampled_from(["completion", "dispatch"])),
                draw(st.sampled_from(["sequence", "spawn", "join", "replay_barrier"])),
            )
            for name in draw(st.lists(st.sampled_from(before), unique=True, max_size=3) if before else st.just([]))
        ]
        optional = {"recorded_api_time_ms": draw(st.integers(0, 9000)) / 8} if draw(st.booleans()) else {}
        optional |= {"priority": 1} if draw(st.booleans()) else {}
        tokens = draw(st.integers(0, 300))
        ids = [draw(st.integers(0, 3)) * 10 + place for place in range(-(-tokens // 64))]
        starts = {"not_before_ms": draw(st.integers(0, 90)) / 2, "session_id": draw(st.sampled_from("ab"))}
        lengths = {"input_length": tokens, "hash_ids": ids, "output_length": draw(st.integers(0, 9))}
        rows.append(row(f"r{n}", *waits, play=play, **starts, **lengths, **optional))
    return rows


@given(files())
def test_any_file_comes_back_equal_and_its_sessions_are_sound(
    tmp_path_factory: pytest.TempPathFactory, found: list[Json]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    plays = read(folder, *found)
    assert [find_flaw(session) for session in plays] == [None] * len(plays)
    write_mooncake(folder / "out.jsonl", plays, "agentic")
    assert load(folder / "out.jsonl") == [HEADER, *found]


@given(sessions())
def test_an_exported_session_is_read_back_with_its_lengths_times_and_graph(
    tmp_path_factory: pytest.TempPathFactory, session: Session
) -> None:
    path = tmp_path_factory.mktemp("export") / "t.jsonl"
    kept = answered_part(session)
    write_mooncake(path, [session], "agentic")
    (back,) = read_mooncake(path)
    assert sorted((r.input_tokens, r.t_end_us is None) for r in back.requests) == sorted(
        (r.input_tokens, r.t_end_us is None) for r in kept.requests
    )
    assert sorted((e.anchor, e.delay_us) for e in back.edges) == sorted((e.anchor, e.delay_us) for e in kept.edges)
