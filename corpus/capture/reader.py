"""Reading captures: requests and responses of all files brought together as exchanges, in order of time.

A first pass over a file keeps a few numbers per record (`corpus.capture.scan`; the index saves it where it has them
already), a second one loads frames as they are needed, so a capture larger than memory can be read. A response belongs
to the request with its exchange id, in whichever worker's or run's file that is. What a recorder appends after a file
was first read is not seen; open the captures again for that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from corpus.capture.directory import EVERY_SESSION, EverySession, is_captures, require_captures, segment_files
from corpus.capture.index import drop_index, file_state, read_index, write_index
from corpus.capture.meta import load_request, load_response
from corpus.capture.recovery import first_records
from corpus.capture.scan import Damage, Place, RequestNote, Scan, read_bytes, scan_file
from corpus.capture.segment import Record, decode_marker, find_marker
from corpus.errors import InputError
from corpus.exchange import Exchange, GapRecord, RequestRecord

__all__ = ["EVERY_SESSION", "Captures", "Damage", "is_captures", "open_captures"]

_CACHE_BYTES: Final = 128 << 20  # uncompressed records kept at hand
_DECODER_BYTES: Final = 20 << 20  # of one at work: window, block, a record in the making, repeated bodies
_WHOLE_FRAME_BYTES: Final = 16 << 20  # of records; a frame that holds more is decoded as it is read
_MARKER_BYTES: Final = 64 << 10  # holds the first marker of all but absurd session ids


def open_captures(path: Path, *, keep_index: bool = False) -> Captures:
    """InputError when `path` is no capture directory, or one of a newer format. Reads no segment yet.

    With `keep_index` what was scanned is added to the index beside the segments, for the next one who reads.
    """
    require_captures(path)
    return Captures(path, keep_index=keep_index)


def verify_captures(path: Path) -> Captures:
    """Every record of every file is read and its checksum checked, and the index is made anew."""
    require_captures(path)
    drop_index(path)
    captures = Captures(path, keep_index=True)
    captures.scan_all()
    return captures


class Captures:
    """One capture directory, read lazily; files that cannot be read at all raise InputError."""

    def __init__(self, path: Path, *, keep_index: bool = False) -> None:
        self.path = path
        self._keep_index = keep_index
        self._scans: dict[Path, Scan] = {}
        self._damage: dict[Damage, None] = {}
        self._frames = _FrameCache()

    @property
    def damage(self) -> list[Damage]:
        """Found so far, by what was read so far; `exchanges()` reads everything."""
        return list(self._damage)

    def scan_all(self) -> None:
        """Find all damage and gaps."""
        self._pairs(segment_files(self.path))

    def notes(self) -> list[RequestNote]:
        """One per request record, by file: whose it is and where it lies."""
        return [note for scan in self._scanned(segment_files(self.path)) for note in scan.requests]

    @property
    def gaps(self) -> list[GapRecord]:
        """What the recorder knows to be missing; by time, found so far as `damage` is."""
        found = {gap: None for scan in self._scans.values() for gap in scan.gaps}
        return sorted(found, key=lambda gap: (gap.t_start_us, gap.cause))

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

        Memory: some hundred bytes per exchange and at most about 128 MiB of frames.
        """
        for request, response in self._pairs(segment_files(self.path, session_id)):
            every = isinstance(session_id, EverySession)
            if every or (request.session_id == session_id and not (response is None and self._went_on(request))):
                yield self._load(request.place, response, bodies=bodies)

    def exchange(self, exchange_id: str) -> Exchange:
        """InputError when there is none with this id."""
        for request, response in self._pairs(segment_files(self.path)):
            if request.exchange_id == exchange_id:
                return self._load(request.place, response, bodies=True)
        raise InputError(self.path, f"no exchange {exchange_id!r}", "`agentreel captures ls` lists them")

    def _pairs(self, files: Iterable[Path]) -> list[tuple[RequestNote, Place | None]]:
        requests: dict[str, RequestNote] = {}
        responses: dict[str, Place] = {}
        for scan in self._scanned(files):
            for request in scan.requests:
                other = requests.setdefault(request.exchange_id, request)
                if other.t_request_us < request.t_request_us:  # a handshake, told anew as the turn that came of it
                    requests[request.exchange_id] = request
                elif other.t_request_us == request.t_request_us and other is not request:
                    self._report(request.place, f"second request of exchange {request.exchange_id!r}")
            for response in scan.responses:
                if responses.setdefault(response.exchange_id, response.place) is not response.place:
                    self._report(response.place, f"second response of exchange {response.exchange_id!r}")
        for exchange_id, place in responses.items():
            if exchange_id not in requests:
                self._report(place, f"response without its request, exchange {exchange_id!r}")
        ordered = sorted(requests.values(), key=lambda request: (request.t_request_us, request.exchange_id))
        return [(request, responses.get(request.exchange_id)) for request in ordered]

    def _went_on(self, request: RequestNote) -> bool:
        """Whether it is a handshake whose first turn named another session, where it was told anew."""
        if request.api != "openai-responses-ws":
            return False
        return any(
            note.exchange_id == request.exchange_id and note.t_request_us > request.t_request_us
            for note in self.notes()
        )

    def _scanned(self, files: Iterable[Path]) -> list[Scan]:
        """Of each file; from the index where it knows the file as it is."""
        wanted = list(files)
        new = [file for file in wanted if file not in self._scans]
        known = read_index(self.path, new) if new else {}
        fresh: dict[Path, tuple[tuple[int, int], Scan]] = {}
        for file in new:
            state = file_state(file)
            if file not in known:
                fresh[file] = (state, scan_file(file))
            scan = self._scans[file] = known.get(file) or fresh[file][1]
            self._damage.update(dict.fromkeys(scan.damage))
        if self._keep_index and fresh:
            write_index(self.path, fresh)
        return [self._scans[file] for file in wanted]

    def _report(self, place: Place, problem: str) -> None:
        self._damage[Damage(str(place.file), place.offset, problem)] = None

    def _load(self, request: Place, response: Place | None, *, bodies: bool) -> Exchange:
        asked = self._frames.record(request, bodies=bodies)
        answered = None if response is None else self._frames.record(response, bodies=bodies)
        return Exchange(
            load_request(asked.meta, asked.body),
            None if answered is None else load_response(answered.meta, answered.body),
        )


def first_exchanges(file: Path) -> Iterator[Exchange]:
    """Answered exchanges of a segment file's first frame, in order of their answers, decoded as they are taken.

    Cheap, whatever the file's size. What is damaged is left out and not reported; reading all of the file does.
    """
    asked: dict[str, RequestRecord] = {}
    for record in first_records(read_bytes(file)):
        try:
            if record.kind == "request":
                request = load_request(record.meta, record.body)
                asked[request.exchange_id] = request
            elif record.kind == "response":
                response = load_response(record.meta, record.body)
                if response.exchange_id in asked:
                    yield Exchange(asked.pop(response.exchange_id), response)
        except ValueError:  # a record that makes no sense
            continue


def _first_marker(file: Path) -> list[tuple[str | None, int]]:
    """Session and time of a file's first sound frame; empty when it has none."""
    data = read_bytes(file, 0, _MARKER_BYTES)
    found = decode_marker(data, 0)
    if found is None:
        data = read_bytes(file)
        found = decode_marker(data, find_marker(data, 0, None))
    return [(found[0].session_id, found[0].t_us)] if found else []


class _FrameCache:
    """The frames read last, up to a number of bytes: exchanges that follow in time mostly share them."""

    def __init__(self) -> None:
        self._frames: OrderedDict[tuple[Path, int, bool], _OpenFrame] = OrderedDict()

    def record(self, place: Place, *, bodies: bool) -> Record:
        key = (place.file, place.offset, bodies)
        found = self._frames[key].record(place.number) if key in self._frames else None
        if found is None:
            self._frames.pop(key, None)
            self._shrink(_CACHE_BYTES // 2)  # before: a large frame and its large successor are too much together
            self._frames[key] = _OpenFrame(place, bodies=bodies)
            found = self._frames[key].record(place.number)
        if found is None:
            raise InputError(place.file, "changed while it was read", "captures are only ever appended to; read again")
        self._frames.move_to_end(key)
        return found

    def _shrink(self, most: int) -> None:
        held = sum(frame.held for frame in self._frames.values())
        while held > most:
            held -= self._frames.popitem(last=False)[1].held


class _OpenFrame:
    """A frame's records: all of them when they are small together, else those that were passed and not given yet."""

    def __init__(self, place: Place, *, bodies: bool) -> None:
        data = read_bytes(place.file, place.offset, place.end)
        self._more: Iterator[tuple[int, Record]] | None = enumerate(first_records(data, bodies=bodies))
        self._records: dict[int, Record] = {}
        self._bytes = 0  # of these records
        while self._bytes < _WHOLE_FRAME_BYTES and self._read_one():
            pass

    @property
    def held(self) -> int:
        """Bytes of memory."""
        return self._bytes + (0 if self._more is None else _DECODER_BYTES)

    def record(self, number: int) -> Record | None:
        """None when there is none, or it was given before and let go."""
        while number not in self._records and self._read_one():
            pass
        found = self._records.get(number)
        if found is not None and self._more is not None:
            del self._records[number]
            self._bytes -= _size(found)
        return found

    def _read_one(self) -> bool:
        number, record = next(self._more, (-1, None)) if self._more is not None else (-1, None)
        if record is None:
            self._more = None
            return False
        self._records[number] = record
        self._bytes += _size(record)
        return True


def _size(record: Record) -> int:
    return len(record.meta) + len(record.body)
