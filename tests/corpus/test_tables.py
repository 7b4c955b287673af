from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corpus.tables
from corpus.card import CARD_NAME, Card
from corpus.errors import InputError, OutputExistsError
from corpus.fingerprint import fingerprint_sessions
from corpus.session import Session
from corpus.tables import is_corpus, read_card, read_corpus, write_corpus

TABLES = ("sessions", "agents", "requests", "tool_calls", "edges")


@pytest.fixture
def sessions(captured: Session) -> list[Session]:
    bare = replace(captured, tool_calls=(), edges=(), source='{"id":"imported"}', harness=None, harness_version=())
    unlinked = [replace(request, segments=None, usage=None) for request in captured.requests]
    return [captured, replace(bare, session=1), replace(captured, session=2, requests=tuple(unlinked))]


@pytest.fixture
def written(tmp_path: Path, sessions: list[Session], card: Card) -> Path:
    write_corpus(tmp_path / "corpus", sessions, card)
    return tmp_path / "corpus"


def test_sessions_come_back_equal(written: Path, sessions: list[Session]) -> None:
    assert is_corpus(written)
    assert list(read_corpus(written)) == sessions


def test_sessions_come_back_equal_over_many_row_groups(
    tmp_path: Path, captured: Session, card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus.tables, "_GROUP_REQUESTS", 20)
    without = replace(captured, tool_calls=(), edges=())
    sessions = [replace(captured if i in (0, 17) else without, session=i) for i in range(40)]
    write_corpus(tmp_path / "corpus", sessions, card)
    assert pq.ParquetFile(tmp_path / "corpus" / "requests.parquet").num_row_groups == 14
    assert list(read_corpus(tmp_path / "corpus")) == sessions


def test_card_says_what_was_written(tmp_path: Path, sessions: list[Session], card: Card) -> None:
    returned = write_corpus(tmp_path / "corpus", sessions, card)
    assert read_card(tmp_path / "corpus") == returned
    assert returned.fingerprint == fingerprint_sessions(sessions)
    assert returned.counts == {"sessions": 3, "agents": 9, "requests": 21, "tool_calls": 4, "edges": 8}
    assert returned.rejected == {"too_long": 2}


def test_a_folder_that_is_not_approved_never_takes_its_place(
    tmp_path: Path, sessions: list[Session], card: Card
) -> None:
    seen: list[list[Session]] = []

    def refuse(folder: Path) -> None:
        seen.append(list(read_corpus(folder)))
        raise InputError(folder, "is not wanted")

    with pytest.raises(InputError, match="is not wanted"):
        write_corpus(tmp_path / "corpus", sessions, card, approve=refuse)
    assert seen == [sessions]
    assert list(tmp_path.iterdir()) == []


def test_rejections_counted_while_sessions_stream_are_on_the_card(
    tmp_path: Path, captured: Session, card: Card
) -> None:
    def stream() -> Iterator[Session]:
        yield captured
        card.rejected["no_body"] = 5

    assert write_corpus(tmp_path / "corpus", stream(), card).rejected == {"too_long": 2, "no_body": 5}


def test_sessions_are_taken_one_by_one(tmp_path: Path, captured: Session, card: Card) -> None:
    write_corpus(tmp_path / "corpus", [captured, replace(captured, session=1)], card)
    reading = read_corpus(tmp_path / "corpus")
    assert next(reading) == captured
    reading.close()  # type: ignore[attr-defined]  # it is a generator, whose files close with it


def test_empty_corpus_is_written_and_read(tmp_path: Path, card: Card) -> None:
    write_corpus(tmp_path / "corpus", [], card)
    assert list(read_corpus(tmp_path / "corpus")) == []


def test_existing_output_is_refused_without_force(written: Path, captured: Session, card: Card) -> None:
    with pytest.raises(OutputExistsError):
        write_corpus(written, [captured], card)
    write_corpus(written, [captured], card, force=True)
    assert list(read_corpus(written)) == [captured]


def test_force_does_not_replace_a_folder_that_is_no_corpus(tmp_path: Path, captured: Session, card: Card) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="other things"):
        write_corpus(tmp_path, [captured], card, force=True)


def test_failed_writing_leaves_nothing(tmp_path: Path, captured: Session, card: Card) -> None:
    with pytest.raises(ValueError, match="session 1: is numbered 0"):
        write_corpus(tmp_path / "corpus", [captured, captured], card)
    assert list(tmp_path.iterdir()) == []


def test_unsound_session_is_not_written(tmp_path: Path, captured: Session, card: Card) -> None:
    with pytest.raises(ValueError, match="request 0: agent 0 does not exist"):
        write_corpus(tmp_path / "corpus", [replace(captured, agents=())], card)


@pytest.mark.parametrize("name", TABLES)
def test_missing_table_is_named(written: Path, name: str) -> None:
    (written / f"{name}.parquet").unlink()
    with pytest.raises(InputError, match=rf"{name}\.parquet: is missing"):
        list(read_corpus(written))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_cut_table_is_named(written: Path, name: str, share: float) -> None:
    file = written / f"{name}.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InputError, match=rf"{name}\.parquet: cannot be read as Parquet"):
        list(read_corpus(written))


@pytest.mark.parametrize("name", TABLES)
def test_flipped_bits_never_end_in_a_traceback(written: Path, name: str, sessions: list[Session]) -> None:
    file = written / f"{name}.parquet"
    whole = file.read_bytes()
    chance = random.Random(name)
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        try:
            assert [replace(s, session=i) for i, s in enumerate(read_corpus(written))] == sessions
        except InputError:
            refused += 1
    assert refused > 20


def test_table_with_other_columns_is_refused(written: Path) -> None:
    pq.write_table(pa.table({"session": [0]}), written / "edges.parquet")
    with pytest.raises(InputError, match=r"edges\.parquet: has other columns"):
        list(read_corpus(written))


def test_table_of_another_corpus_is_refused(written: Path, tmp_path: Path, captured: Session, card: Card) -> None:
    write_corpus(tmp_path / "other", [captured], card)
    (tmp_path / "other" / "requests.parquet").replace(written / "requests.parquet")
    with pytest.raises(InputError, match=r"requests\.parquet: has 7 rows, the card says 21"):
        list(read_corpus(written))


def test_rows_of_a_session_that_is_not_there_are_refused(written: Path) -> None:
    rewrite(written, "edges", "session", [0, 0, 0, 0, 2, 2, 2, 9])
    with pytest.raises(InputError, match=r"edges\.parquet: has rows of session 9"):
        list(read_corpus(written))


def test_dangling_reference_is_placed(written: Path) -> None:
    rewrite(written, "edges", "dst", [2, 3, 4, 6, 2, 3, 4, 60])
    with pytest.raises(InputError, match="session 2: edge 3: 5 to 60 does not join two requests"):
        list(read_corpus(written))


def test_base_that_is_no_earlier_request_is_refused(written: Path) -> None:
    rewrite(written, "requests", "base", [0] * 21)
    with pytest.raises(InputError, match="session 0: request 0: base 0 is no earlier request"):
        list(read_corpus(written))


def test_sessions_out_of_order_are_refused(written: Path) -> None:
    rewrite(written, "sessions", "session", [0, 2, 1])
    with pytest.raises(InputError, match=r"sessions\.parquet: session 2 stands where 1 should"):
        list(read_corpus(written))


def test_other_version_is_refused(written: Path) -> None:
    card = orjson.loads((written / CARD_NAME).read_bytes())
    (written / CARD_NAME).write_bytes(orjson.dumps({**card, "version": 99}))
    with pytest.raises(InputError, match="version 99"):
        list(read_corpus(written))


def test_real_traces_take_less_than_forty_bytes_a_request(tmp_path: Path, real_weka: Path, card: Card) -> None:
    from corpus.formats.weka import read_weka

    written = write_corpus(tmp_path / "corpus", read_weka(real_weka), card)
    size = sum(file.stat().st_size for file in (tmp_path / "corpus").iterdir())
    assert size / written.counts["requests"] <= 40
    assert list(read_corpus(tmp_path / "corpus")) == list(read_weka(real_weka))


def rewrite(folder: Path, name: str, column: str, values: list[int]) -> None:
    """The table with one column replaced, otherwise as it was."""
    file = folder / f"{name}.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index(column)
    field = table.schema.field(column)
    pq.write_table(table.set_column(place, field, pa.array(values, field.type)), file, store_schema=False)
