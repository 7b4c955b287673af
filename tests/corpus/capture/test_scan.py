from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from corpus.capture.directory import segment_files
from corpus.capture.scan import scan_file
from corpus.capture.writer import CaptureWriter
from corpus.errors import InputError
from corpus.exchange import GapRecord
from tests.corpus.capture.conftest import MakeExchange


def write(path: Path, make_exchange: MakeExchange, *gaps: GapRecord) -> Path:
    writer = CaptureWriter(path, "w0")
    request, response = make_exchange(1, None)
    writer.write_request(replace(request, contributor="ada"))
    writer.write_response(None, response)
    for gap in gaps:
        writer.write_gap(gap)
    writer.close()
    (file,) = segment_files(path)
    return file


def test_whose_a_record_is_and_where_it_lies_is_noted(tmp_path: Path, make_exchange: MakeExchange) -> None:
    gap = GapRecord("disk", 1, 2, 3)
    scan = scan_file(write(tmp_path, make_exchange, gap))
    (request,), (response,) = scan.requests, scan.responses
    assert (request.exchange_id, request.contributor, request.purpose) == ("x000001", "ada", "turn")
    assert (response.exchange_id, response.status, response.end, response.input_tokens) == (
        "x000001",
        200,
        "complete",
        7,
    )
    assert (request.place.number, response.place.number, request.place.offset) == (0, 1, 0)
    assert (scan.gaps, scan.damage) == ([gap], [])


def test_a_flipped_byte_is_found_or_changes_nothing(tmp_path: Path, make_exchange: MakeExchange) -> None:
    file = write(tmp_path, make_exchange)
    sound, whole = file.read_bytes(), scan_file(file)
    for at in range(len(sound)):
        file.write_bytes(sound[:at] + bytes([sound[at] ^ 0x55]) + sound[at + 1 :])
        scan = scan_file(file)
        assert scan.damage or scan == whole, at


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        scan_file(tmp_path / "nothing.segment")
