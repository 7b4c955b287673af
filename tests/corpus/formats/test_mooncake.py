from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.card import Card
from corpus.errors import InputError, OutputExistsError
from corpus.formats.mooncake import is_mooncake, read_mooncake, write_mooncake
from corpus.formats.trace_rows import Written, answered_part
from corpus.session import MooncakeDialect, Session
from corpus.soundness import find_flaw
from corpus.tables import read_corpus, write_corpus
from tests.corpus.formats.sessions import dump, load, make_session, sessions

DIALECTS: tuple[MooncakeDialect, ...] = get_args(MooncakeDialect)
TRACES = Path(__file__).resolve().parents[3].parent / "shared" / "traces" / "mooncake"

times = st.integers(0, 10**9) | st.floats(0, 1e9)
rows = st.fixed_dictionaries(
    {"input_length": st.integers(0, 5000)},
    optional={
        "timestamp": times | st.none(),
        "output_length": st.none() | st.integers(0, 500),
        "hash_ids": st.none() | st.lists(st.integers(0, 40), max_size=6),
        "delay": times,
        "session_id": st.none() | st.text(max_size=2),
        "extra": st.just({"temperature": 0}),
        "group_id": st.integers(0, 3),
    },
)
graph_rows = st.fixed_dictionaries(
    {"input_length": st.integers(0, 5000), "output_length": st.integers(0, 9), "hash_ids": st.just([1])},
    optional={
        "timestamp": times,
        "delay": times,
        "tool_wait_ms": times,
        "session_id": st.text(max_size=1),
        "prefix_reset": st.booleans(),
        "tool_events": st.just([{"tool_class": "shell"}]),
    },
)


@pytest.mark.parametrize("name", ["conversation_trace.jsonl", "synthetic_trace.jsonl"])
def test_published_traces_come_back_equal_through_a_corpus(tmp_path: Path, card: Card, name: str) -> None:
    if not TRACES.is_dir():
        pytest.skip("no traces/mooncake beside the repository: real traces are not part of it")
    write_corpus(tmp_path / "corpus", read_mooncake(TRACES / name), card)
    (session,) = read_corpus(tmp_path / "corpus")
    assert (session.source_dialect, session.block_size, session.edges) == ("plain", 512, ())
    write_mooncake(tmp_path / "back.jsonl", [session], "plain")
    assert load(tmp_path / "back.jsonl") == load(TRACES / name)


@given(st.lists(rows, min_size=1, max_size=8), st.sampled_from(["plain", "sessions", "delta"]))
def test_any_rows_come_back_equal_and_their_sessions_are_sound(
    tmp_path_factory: pytest.TempPathFactory, found: list[dict[str, Any]], dialect: MooncakeDialect
) -> None:
    folder = tmp_path_factory.mktemp("any")
    read = list(read_mooncake(dump(folder / "in.jsonl", *found), dialect))
    assert [find_flaw(session) for session in read] == [None] * len(read)
    assert [session.session for session in read] == list(range(len(read)))
    write_mooncake(folder / "delta.jsonl", read, dialect)
    assert load(folder / "delta.jsonl") == found


@given(st.lists(graph_rows, min_size=1, max_size=8), st.data())
def test_rows_of_the_first_agentic_version_become_the_second_and_wait_as_before(
    tmp_path_factory: pytest.TempPathFactory, found: list[dict[str, Any]], data: st.DataObject
) -> None:
    names = [f"r{n}" for n in range(len(found))]
    for n, row in enumerate(found):
        row |= {"request_id": names[n], "wait_for": data.draw(st.lists(st.sampled_from(names[:n] or [""]), max_size=3))}
        row["wait_for"] = [name for name in row["wait_for"] if name]
    folder = tmp_path_factory.mktemp("graph")
    read = list(read_mooncake(dump(folder / "in.jsonl", *found)))
    assert all(find_flaw(session) is None and session.source_dialect == "agentic" for session in read)
    assert sum(len(set(row["wait_for"])) for row in found) == sum(len(session.edges) for session in read)
    write_mooncake(folder / "out.jsonl", read, "agentic")
    kept = [part for session in read if (part := answered_part(session)).requests]  # no prompt, no request
    again = list(read_mooncake(folder / "out.jsonl")) if kept else []
    graphs = [sorted((e.anchor, e.delay_us) for session in found for e in session.edges) for found in (kept, again)]
    assert graphs[0] == graphs[1]


@given(sessions(), st.sampled_from(DIALECTS))
def test_exported_sessions_keep_prompts_answers_and_count(
    tmp_path_factory: pytest.TempPathFactory, session: Session, dialect: MooncakeDialect
) -> None:
    path = tmp_path_factory.mktemp("export") / "delta.jsonl"
    kept = answered_part(session)
    written = write_mooncake(path, [session], dialect)
    assert written == Written(1, len(kept.requests), 0, 0)
    back = list(read_mooncake(path, dialect))
    assert [find_flaw(found) for found in back] == [None] * len(back)
    lengths = sorted((r.input_tokens, r.output_tokens) for found in back for r in found.requests)
    expected = sorted((r.input_tokens, r.output_tokens) for r in kept.requests)
    if dialect != "delta":
        assert lengths == expected
        assert {found.block_size for found in back} <= {512, 16, 32, 64, 128, 256, 1024, 2048, 4096}
    else:
        assert len(lengths) == len(expected)
        assert sum(tokens for tokens, _ in lengths) >= sum(tokens for tokens, _ in expected)


def test_dialect_of_the_file_is_detected_and_may_be_named(tmp_path: Path) -> None:
    first = {"session_id": "a", "timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
    path = dump(tmp_path / "t.jsonl", first, {**first, "timestamp": 9, "hash_ids": [3, 4]})
    assert [s.source_dialect for s in read_mooncake(path)] == ["delta"]
    assert [s.source_dialect for s in read_mooncake(path, "sessions")] == ["sessions"]
    assert [r.input_tokens for s in read_mooncake(path) for r in s.requests] == [1024, 2049]


def test_a_delta_wants_a_name_that_says_so(tmp_path: Path) -> None:
    session = make_session([{}], [[1]])
    with pytest.raises(InputError, match="put 'delta' into its name"):
        write_mooncake(tmp_path / "t.jsonl", [session], "delta")
    assert list(tmp_path.iterdir()) == []
    write_mooncake(tmp_path / "t.delta.jsonl", [session], "delta")


def test_existing_output_is_refused_without_force(tmp_path: Path) -> None:
    session = make_session([{}], [[1]])
    write_mooncake(tmp_path / "t.jsonl", [session], "plain")
    with pytest.raises(OutputExistsError):
        write_mooncake(tmp_path / "t.jsonl", [session], "plain")
    write_mooncake(tmp_path / "t.jsonl", [session], "plain", force=True)


def test_mooncake_is_told_from_other_files(tmp_path: Path) -> None:
    row = {"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [1]}
    assert is_mooncake(dump(tmp_path / "a.jsonl", row))
    assert is_mooncake(dump(tmp_path / "b.jsonl", {"text_input": "x", "output_length": 1}))
    assert not is_mooncake(dump(tmp_path / "c.jsonl", {**row, "chat_id": 1}))
    assert not is_mooncake(dump(tmp_path / "d.txt", row))
    assert not is_mooncake(tmp_path)


ROW: dict[str, Any] = {"timestamp": 0, "input_length": 100, "output_length": 1, "hash_ids": [1]}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"input_length": 5', "is broken JSON"),
        (b"[1]", "must be an object, is a list"),
        (b'{"output_length": 5}', "input_length: is missing"),
        (b'{"input_length": -5}', "input_length: must be a whole number from 0, is -5"),
        (b'{"input_length": 5, "timestamp": -1}', "timestamp: must be milliseconds from 0"),
        (b'{"input_length": 5, "timestamp": "1"}', 'timestamp: must be a number of milliseconds, is "1"'),
        (b'{"input_length": 5, "hash_ids": [1, null]}', r"hash_ids\[1\]: must be a whole number from 0"),
        (b'{"messages": [{"role": "user", "content": "hi"}]}', "messages: is text, which no corpus keeps"),
        (b'{"text_input": "hi", "input_length": 4}', "text_input: is text, which no corpus keeps"),
        (b'{"text_input": "hi", "output_length": 4}', "text_input: is text, which no corpus keeps"),
        (b'{"input_length": 5, "request_id": "a", "wait_for": ["b"]}', "wait_for: no row has the request_id 'b'"),
        (b'{"input_length": 5, "request_id": "first"}', "request_id: 'first' is already the id of another row"),
    ],
)
def test_broken_rows_are_one_line_that_names_file_line_and_key(tmp_path: Path, line: bytes, complaint: str) -> None:
    path = dump(tmp_path / "bad.jsonl", ROW | {"request_id": "first"})
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(InputError, match=rf"bad\.jsonl: line 2: {complaint}") as caught:
        list(read_mooncake(path))
    assert "\n" not in str(caught.value)


def test_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n\n")
    with pytest.raises(InputError, match="holds no Mooncake row"):
        list(read_mooncake(tmp_path / "empty.jsonl"))


def test_shortened_imports_keep_the_ids_of_the_file(tmp_path: Path) -> None:
    from corpus.dropping import drop_requests

    path = dump(tmp_path / "t.jsonl", *({**ROW, "timestamp": n, "hash_ids": [n + 7]} for n in range(3)))
    (session,) = read_mooncake(path)
    write_mooncake(tmp_path / "out.jsonl", [drop_requests(session, {1})], "plain")
    assert [orjson.dumps(row) for row in load(tmp_path / "out.jsonl")] == [
        orjson.dumps({**ROW, "timestamp": n, "hash_ids": [n + 7]}) for n in (0, 2)
    ]
