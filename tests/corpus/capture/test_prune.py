from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.capture.directory import segment_files
from corpus.capture.prune import Pruned, prune_captures
from corpus.capture.reader import open_captures, verify_captures
from corpus.capture.scan import RequestNote
from corpus.capture.writer import CaptureWriter
from corpus.errors import InputError
from corpus.exchange import Exchange, GapRecord
from tests.corpus.capture.conftest import MakeExchange


@pytest.fixture
def captures(tmp_path: Path, make_exchange: MakeExchange) -> Path:
    """Exchanges 0..5 of sessions a and b in turn, 6 and 7 of none; odd ones came with Ada's token."""
    return write(tmp_path / "captures", make_exchange)


def write(path: Path, make_exchange: MakeExchange) -> Path:
    writer = CaptureWriter(path, "w0")
    for number in range(8):
        request, response = make_exchange(number, None if number > 5 else "ab"[number % 2])
        writer.write_request(replace(request, contributor="ada" if number % 2 else None))
        writer.write_response(request.identity.session_id, response)
    writer.write_gap(GapRecord("disk", 1, 2, 3))
    writer.close()
    return path


def everything(path: Path) -> list[Exchange]:
    captures = open_captures(path)
    found = list(captures.exchanges())
    assert captures.damage == []
    return found


def test_a_whole_session_is_an_unlinked_file(captures: Path) -> None:
    before = everything(captures)
    done = prune_captures(captures, lambda notes: [note.exchange_id for note in notes if note.session_id == "a"])
    assert (done.exchanges, done.files_removed, done.files_rewritten, done.damage_lost) == (3, 1, 0, 0)
    assert done.bytes_freed > 0
    assert everything(captures) == [exchange for exchange in before if exchange.request.identity.session_id != "a"]


def test_single_exchanges_go_and_the_rest_of_their_files_stays_as_it_was(captures: Path) -> None:
    before = everything(captures)
    done = prune_captures(captures, lambda notes: [note.exchange_id for note in notes if note.contributor == "ada"])
    assert (done.exchanges, done.files_removed, done.files_rewritten) == (4, 1, 1)  # session b is all hers
    assert everything(captures) == [exchange for exchange in before if exchange.request.contributor != "ada"]
    kept = open_captures(captures)
    kept.scan_all()
    assert kept.gaps == [GapRecord("disk", 1, 2, 3)]
    assert {file.stat().st_mode & 0o777 for file in segment_files(captures)} == {0o600}


def test_a_dry_run_only_counts(captures: Path) -> None:
    before = everything(captures)
    assert prune_captures(captures, lambda _notes: ["x000001", "nobody"], dry=True) == Pruned(1, 0, 0, 0, 0)
    assert everything(captures) == before


def test_the_index_knows_at_once(captures: Path) -> None:
    verify_captures(captures)
    prune_captures(captures, lambda _notes: ["x000001", "x000006"])
    assert len(everything(captures)) == 6


def test_nothing_is_pruned_while_a_recorder_writes(captures: Path) -> None:
    writer = CaptureWriter(captures, "w1")
    with pytest.raises(InputError, match="a recorder is writing here"):
        prune_captures(captures, lambda _notes: ["x000001"])
    writer.close()
    assert len(everything(captures)) == 8


def test_damage_in_a_rewritten_file_is_counted(captures: Path) -> None:
    torn = max(segment_files(captures), key=lambda file: file.name.startswith("no-session"))
    torn.write_bytes(torn.read_bytes() + b"torn")
    assert prune_captures(captures, lambda _notes: ["x000006"]).damage_lost == 1


numbers = itertools.count()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.sets(st.integers(0, 7)))
def test_exactly_the_chosen_ones_go(tmp_path: Path, make_exchange: MakeExchange, chosen: set[int]) -> None:
    path = write(tmp_path / f"c{next(numbers)}", make_exchange)
    names = {f"x{number:06}" for number in chosen}

    def choose(notes: Sequence[RequestNote]) -> Iterable[str]:
        return names & {note.exchange_id for note in notes}

    before = everything(path)
    assert prune_captures(path, choose).exchanges == len(names)
    assert everything(path) == [exchange for exchange in before if exchange.request.exchange_id not in names]
