"""What one pass over a segment file notes: where each record lies, whose it is, and what could not be read.

A few numbers and ids per record, no bodies: enough to put exchanges of any number of files in order and to load any of
them by decoding one frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from corpus.capture.meta import load_gap, load_request, load_response
from corpus.capture.recovery import Frame, read_frames
from corpus.capture.segment import Record
from corpus.errors import InputError
from corpus.exchange import End, GapRecord


@dataclass(frozen=True, slots=True)
class Damage:
    """What could not be used: a torn or damaged stretch of a file, or a record that makes no sense."""

    file: str
    offset: int
    problem: str


@dataclass(frozen=True, slots=True)
class Place:
    file: Path
    offset: int  # of the frame, up to `end`
    end: int
    number: int  # of the record in the frame


@dataclass(frozen=True, slots=True)
class RequestNote:
    place: Place
    exchange_id: str
    session_id: str | None
    t_request_us: int
    agent_id: str | None
    parent_agent_id: str | None
    contributor: str | None
    model: str | None
    api: str
    purpose: str


@dataclass(frozen=True, slots=True)
class ResponseNote:
    place: Place
    exchange_id: str
    status: int | None
    end: End
    t_end_us: int
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class Scan:
    requests: list[RequestNote] = field(default_factory=list)
    responses: list[ResponseNote] = field(default_factory=list)
    gaps: list[GapRecord] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)


def scan_file(file: Path) -> Scan:
    """Every checksum is checked on the way. InputError when the file cannot be read at all."""
    scan = Scan()
    for found in read_frames(read_bytes(file), bodies=False):
        flaw = found.flaw if isinstance(found, Frame) else found
        if isinstance(found, Frame):
            _note_frame(scan, file, found)
        if flaw:
            scan.damage.append(Damage(str(file), flaw.offset, flaw.problem))
    return scan


def read_bytes(file: Path, offset: int = 0, end: int | None = None) -> bytes:
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            return stream.read(-1 if end is None else end - offset)
    except OSError as error:
        raise InputError(file, f"cannot be read: {error.strerror}") from error


def _note_frame(scan: Scan, file: Path, frame: Frame) -> None:
    for number, record in enumerate(frame.records):
        try:
            _note_record(scan, Place(file, frame.offset, frame.end, number), record)
        except ValueError as error:
            scan.damage.append(Damage(str(file), frame.offset, f"record {number} of this frame: {error}"))


def _note_record(scan: Scan, place: Place, record: Record) -> None:
    """Parses the whole record, so that loading it later cannot fail on what this pass let through."""
    match record.kind:
        case "request":
            scan.requests.append(_request_note(place, record))
        case "response":
            scan.responses.append(_response_note(place, record))
        case "gap":
            scan.gaps.append(load_gap(record.meta))


def _request_note(place: Place, record: Record) -> RequestNote:
    request = load_request(record.meta, b"")
    who = request.identity
    return RequestNote(
        place=place,
        exchange_id=request.exchange_id,
        session_id=who.session_id,
        t_request_us=request.t_request_us,
        agent_id=who.agent_id,
        parent_agent_id=who.parent_agent_id,
        contributor=request.contributor,
        model=who.model,
        api=request.api,
        purpose=who.purpose,
    )


def _response_note(place: Place, record: Record) -> ResponseNote:
    response = load_response(record.meta, b"")
    return ResponseNote(
        place=place,
        exchange_id=response.exchange_id,
        status=response.status,
        end=response.end,
        t_end_us=response.t_end_us,
        input_tokens=response.usage.input_tokens if response.usage else None,
        output_tokens=response.usage.output_tokens if response.usage else None,
    )
