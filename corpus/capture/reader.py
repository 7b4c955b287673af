"""Reading captures: requests and responses of all files brought together as exchanges, in order of time.

A first pass over a file keeps a few numbers per record (`_Scan`), a second one loads frames as they are needed, so a
capture larger than memory can be read. A response belongs to the request with its exchange id, in whichever worker's or
run's file that is. What a recorder appends after a file was first read is not seen; open the captures again for that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from corpus.capture.directory import EVERY_SESSION, EverySession, is_captures, require_captures, segment_files
from corpus.capture.meta import load_request, load_response
from corpus.capture.recovery import Frame, read_frames
from corpus.capture.segment import Record, decode_marker, find_marker
from corpus.errors import InputError
from corpus.exchange import Exchange

__all__ = ["EVERY_SESSION", "Captures", "Damage", "is_captures", "open_captures"]

_CACHE_BYTES: Final = 256 << 20  # uncompressed records kept at hand
_MARKER_BYTES: Final = 64 << 10  # holds the first marker of all but absurd session ids


@dataclass(frozen=True, slots=True)
class Damage:
    """What could not be used: a torn or damaged stretch of a file, or a record that makes no sense."""

    file: str
    offset: int
    problem: str


def open_captures(path: Path) -> Captures:
    """InputError when `path` is no capture directory, or one of a newer format. Reads no segment yet."""
    require_captures(path)
    return Captures(path)


class Captures:
    """One capture directory, read lazily; files that cannot be read at all raise InputError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._scans: dict[Path, _Scan] = {}
        self._damage: dict[Damage, None] = {}
        self._frames = _FrameCache()

    @property
    def damage(self) -> list[Damage]:
        """Found so far, by what was read so far; `exchanges()` reads everything."""
        return list(self._damage)

    def session_ids(self) -> list[str | None]:
        """By the time of their first record; also of sessions without a single whole exchange. Cheap."""
        first: dict[str | None, int] = {}
        for file in segment_files(self.path):
            for session_id, t_us in _first_marker(file):
                first[session_id] = min(t_us, first.get(session_id, t_us))
        return sorted(first, key=lambda session_id: (first[session_id], session_id or ""))

    def exchanges(
        self, session_id: str | EverySession | None = EVERY_SESSION, *, bodies: bool = True
    ) -> Iterator[Exchange]:
        """By t_request_us, over all workers and runs. Without `bodies` these are b"" and `body_bytes` tells their size.

        Memory: some hundred bytes per exchange and at most about 256 MiB of frames.
        """
        for request, response in self._pairs(segment_files(self.path, session_id)):
            if isinstance(session_id, EverySession) or request.session_id == session_id:
                yield self._load(request.place, response, bodies=bodies)

    def exchange(self, exchange_id: str) -> Exchange:
        """InputError when there is none with this id."""
        for request, response in self._pairs(segment_files(self.path)):
            if request.exchange_id == exchange_id:
                return self._load(request.place, response, bodies=True)
        raise InputError(self.path, f"no exchange {exchange_id!r}", "`agentreel captures ls` lists them")

    def _pairs(self, files: Iterable[Path]) -> list[tuple[_Request, _Place | None]]:
        requests: dict[str, _Request] = {}
        responses: dict[str, _Place] = {}
        for scan in [self._scan(file) for file in files]:
            for request in scan.requests:
                if requests.setdefault(request.exchange_id, request) is not request:
                    self._report(request.place, f"second request of exchange {request.exchange_id!r}")
            for exchange_id, place in scan.responses:
                if responses.setdefault(exchange_id, place) is not place:
                    self._report(place, f"second response of exchange {exchange_id!r}")
        for exchange_id, place in responses.items():
            if exchange_id not in requests:
                self._report(place, f"response without its request, exchange {exchange_id!r}")
        ordered = sorted(requests.values(), key=lambda request: (request.t_request_us, request.exchange_id))
        return [(request, responses.get(request.exchange_id)) for request in ordered]

    def _scan(self, file: Path) -> _Scan:
        if file not in self._scans:
            scan = self._scans[file] = _scan_file(file)
            self._damage.update(dict.fromkeys(scan.damage))
        return self._scans[file]

    def _report(self, place: _Place, problem: str) -> None:
        self._damage[Damage(str(place.file), place.offset, problem)] = None

    def _load(self, request: _Place, response: _Place | None, *, bodies: bool) -> Exchange:
        asked = self._frames.record(request, bodies=bodies)
        answered = None if response is None else self._frames.record(response, bodies=bodies)
        return Exchange(
            load_request(asked.meta, asked.body),
            None if answered is None else load_response(answered.meta, answered.body),
        )


@dataclass(frozen=True, slots=True)
class _Place:
    file: Path
    offset: int  # of the frame, up to `end`
    end: int
    number: int  # of the record in the frame


@dataclass(frozen=True, slots=True)
class _Request:
    exchange_id: str
    session_id: str | None
    t_request_us: int
    place: _Place


@dataclass(frozen=True, slots=True)
class _Scan:
    requests: list[_Request] = field(default_factory=list)
    responses: list[tuple[str, _Place]] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)


def _scan_file(file: Path) -> _Scan:
    scan = _Scan()
    for found in read_frames(_read(file), bodies=False):
        flaw = found.flaw if isinstance(found, Frame) else found
        if isinstance(found, Frame):
            _note_frame(scan, file, found)
        if flaw:
            scan.damage.append(Damage(str(file), flaw.offset, flaw.problem))
    return scan


def _note_frame(scan: _Scan, file: Path, frame: Frame) -> None:
    for number, record in enumerate(frame.records):
        try:
            _note_record(scan, _Place(file, frame.offset, frame.end, number), record)
        except ValueError as error:
            scan.damage.append(Damage(str(file), frame.offset, f"record {number} of this frame: {error}"))


def _note_record(scan: _Scan, place: _Place, record: Record) -> None:
    """Parses the whole record, so that the second pass cannot fail on what the first one let through."""
    if record.kind == "response":
        scan.responses.append((load_response(record.meta, b"").exchange_id, place))
        return
    request = load_request(record.meta, b"")
    scan.requests.append(_Request(request.exchange_id, request.identity.session_id, request.t_request_us, place))


def _first_marker(file: Path) -> list[tuple[str | None, int]]:
    """Session and time of a file's first sound frame; empty when it has none."""
    data = _read(file, 0, _MARKER_BYTES)
    found = decode_marker(data, 0)
    if found is None:
        data = _read(file)
        found = decode_marker(data, find_marker(data, 0, None))
    return [(found[0].session_id, found[0].t_us)] if found else []


def _read(file: Path, offset: int = 0, end: int | None = None) -> bytes:
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            return stream.read(-1 if end is None else end - offset)
    except OSError as error:
        raise InputError(file, f"cannot be read: {error.strerror}") from error


class _FrameCache:
    """The frames read last, up to a number of bytes: exchanges that follow in time mostly share them."""

    def __init__(self) -> None:
        self._frames: OrderedDict[tuple[Path, int, bool], tuple[Record, ...]] = OrderedDict()
        self._bytes = 0

    def record(self, place: _Place, *, bodies: bool) -> Record:
        key = (place.file, place.offset, bodies)
        if key not in self._frames:
            self._frames[key] = _read_frame(place, bodies=bodies).records
            self._bytes += _size(self._frames[key])
        self._frames.move_to_end(key)
        while self._bytes > _CACHE_BYTES and len(self._frames) > 1:
            self._bytes -= _size(self._frames.popitem(last=False)[1])
        return self._frames[key][place.number]


def _size(records: Iterable[Record]) -> int:
    return sum(len(record.meta) + len(record.body) for record in records)


def _read_frame(place: _Place, *, bodies: bool) -> Frame:
    frame = next(read_frames(_read(place.file, place.offset, place.end), bodies=bodies), None)
    if not isinstance(frame, Frame) or len(frame.records) <= place.number:
        raise InputError(place.file, "changed while it was read", "captures are only ever appended to; read it again")
    return frame
