"""Runs: what a replay sent and measured, one row a request, and the files that hold it.

A run is a directory of `config.json` (everything that decided the run), `requests.parquet` (one `SentRequest` a row, in
the order sent) and `summary.json`. Rows carry what a request had to wait for, so that fidelity can be judged from them
alone. Times are `_us` integers from the start of the run; null means that it did not happen or is not known.

Arrow is imported where a file is written or read: a replay needs it after its last request, and not before its first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from itertools import batched
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson

from corpus.errors import InputError
from corpus.output import refuse_existing, written_aside
from corpus.session import Anchor

if TYPE_CHECKING:
    import pyarrow as pa

Phase = Literal["warmup", "profile"]
# "cut": still in flight when the run ended; not the server's fault and not counted as an error
# "reset": the connection was lost before any answer; "truncated": within it
ErrorClass = Literal[
    "connect", "reset", "timeout", "http_4xx", "http_5xx", "context_overflow", "bad_stream", "truncated", "cut"
]


@dataclass(frozen=True, slots=True)
class SentRequest:
    """`after`, `after_delay_us` and `after_anchor` are parallel: requests of the play, what had to pass, since when.

    Due is the latest of `release_us` + `root_offset_us` (0 when null) and every anchor moment + delay.
    """

    lane: int
    play: int  # unique per playing of a session
    session: int
    request: int
    agent: int
    phase: Phase
    model: str | None  # as recorded
    planned_input_tokens: int
    planned_output_tokens: int
    after: tuple[int, ...]
    after_delay_us: tuple[int, ...]  # idle-capped and sped up
    after_anchor: tuple[Anchor, ...]
    release_us: int  # when the lane took the play, or the stage of warm-up or the profiling began in which it was sent
    root_offset_us: int | None  # what had to pass since `release_us`; null when it waited for requests instead
    due_us: int
    sent_us: int | None  # request head written to the connection
    first_token_us: int | None
    last_token_us: int | None
    end_us: int | None  # answer complete, or the moment of failure
    measured_input_tokens: int | None  # the server's own count
    measured_output_tokens: int | None
    cached_tokens: int | None
    predicted_cached_tokens: int | None  # with an infinite cache
    status: int | None
    error: ErrorClass | None
    recorded_start_us: int  # from the session's first request start
    recorded_end_us: int | None


@dataclass(frozen=True, slots=True)
class Run:
    config: dict[str, Any]
    requests: tuple[SentRequest, ...]
    summary: dict[str, Any]


SUMMARY_NAME: Final = "summary.json"
_GROUP_ROWS: Final = 16_384
_INT, _TEXT, _INTS, _TEXTS = "int", "text", "ints", "texts"
_REQUIRED: Final[dict[str, str]] = {
    "lane": _INT,
    "play": _INT,
    "session": _INT,
    "request": _INT,
    "agent": _INT,
    "phase": _TEXT,
    "planned_input_tokens": _INT,
    "planned_output_tokens": _INT,
    "after": _INTS,
    "after_delay_us": _INTS,
    "after_anchor": _TEXTS,
    "release_us": _INT,
    "due_us": _INT,
    "recorded_start_us": _INT,
}
_NULLABLE_TEXT: Final = ("model", "error")
_NAMES: Final = tuple(field.name for field in fields(SentRequest))
_LISTS: Final = ("after", "after_delay_us", "after_anchor")
_ANCHORS: Final = frozenset({"end", "start"})
_PREDICTED: Final = _NAMES.index("predicted_cached_tokens")
_values, _all_values = attrgetter(*_NAMES), itemgetter(*_NAMES)
_required_values, _list_values = itemgetter(*_REQUIRED), itemgetter(*_LISTS)
_HINT: Final = "give the directory that `agentreel replay --out` wrote"


def is_run(path: Path) -> bool:
    return (path / "requests.parquet").is_file() and (path / SUMMARY_NAME).is_file()


def refuse_existing_run(path: Path, *, force: bool) -> None:
    """Raise before an hour of work what `write_run` would raise after it."""
    refuse_existing(path, force=force, replaceable=is_run)
    if path.exists() and not path.is_dir():
        raise InputError(path, "is a file, and a run is a directory", "choose another name")
    home = next(folder for folder in path.absolute().parents if folder.exists())
    if not os.access(home, os.W_OK):
        raise InputError(path, f"cannot be written below {home} (no permission)", "choose another place")


def write_run(
    path: Path,
    config: Mapping[str, Any],
    requests: Iterable[SentRequest],
    summary: Mapping[str, Any],
    *,
    beside: Iterable[Path] = (),
    force: bool = False,
) -> None:
    """A reader sees the whole run or none; OutputExistsError without `force`, and only a run is ever replaced.

    `beside`: files that go along as they are.
    """
    refuse_existing_run(path, force=force)
    with written_aside(path, force=force, replaceable=is_run) as aside:
        aside.mkdir()
        (aside / "config.json").write_bytes(_json(config))
        _write_rows(aside / "requests.parquet", requests)
        (aside / SUMMARY_NAME).write_bytes(_json(summary))
        for file in beside:
            shutil.copyfile(file, aside / file.name)


def _write_rows(path: Path, requests: Iterable[SentRequest]) -> None:
    """A row group at a time, so that what is held is one of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _row_schema()
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for group in batched(requests, _GROUP_ROWS):
            columns = [pa.array(list(map(attrgetter(field.name), group)), field.type) for field in schema]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


@cache
def _row_schema() -> pa.Schema:
    import pyarrow as pa

    number, text = pa.int64(), pa.string()
    kinds = {_INT: number, _TEXT: text, _INTS: pa.list_(number), _TEXTS: pa.list_(text)}
    kind_of = {**dict.fromkeys(_NAMES, _INT), **dict.fromkeys(_NULLABLE_TEXT, _TEXT), **_REQUIRED}
    return pa.schema([pa.field(name, kinds[kind_of[name]], nullable=name not in _REQUIRED) for name in _NAMES])


def read_run(path: Path) -> Run:
    """Raises InputError for a directory that is no run, or a run with a broken or incomplete file."""
    if not path.is_dir():
        raise InputError(path, "no such run directory", _HINT)
    return Run(
        config=_read_json(path / "config.json"),
        requests=tuple(_read_requests(path / "requests.parquet")),
        summary=_read_json(path / SUMMARY_NAME),
    )


def _json(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps(dict(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(path, "is missing", _HINT) from error
    except orjson.JSONDecodeError as error:
        raise InputError(path, f"is no JSON ({error})", "replay again") from error
    if not isinstance(value, dict):
        raise InputError(path, "is no JSON object", "replay again")
    return value


def _read_requests(path: Path) -> Iterator[SentRequest]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except FileNotFoundError as error:
        raise InputError(path, "is missing", _HINT) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(path, f"cannot be read as Parquet ({str(error).splitlines()[0]})", "replay again") from error
    missing = [name for name in _NAMES if name not in table.column_names]
    if missing:
        raise InputError(path, f"has no column {missing[0]!r}", "it was not written by `agentreel replay`")
    try:
        rows = table.select(list(_NAMES)).cast(_row_schema()).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise InputError(path, f"has a column of the wrong type ({str(error).splitlines()[0]})") from error
    for number, row in enumerate(rows):
        yield row_from(row, f"{path}: row {number}")


def row_from(row: dict[str, Any], where: str) -> SentRequest:
    """Of one row of a run's file or of its log; raises InputError for values that no replay wrote."""
    if None in _required_values(row):
        name = next(name for name in _REQUIRED if row[name] is None)
        raise InputError(where, f"{name} is null")
    after, delays, anchors = _list_values(row)
    if not len(after) == len(delays) == len(anchors):
        raise InputError(where, f"{', '.join(_LISTS)} are not equally long")
    if row["phase"] not in ("warmup", "profile") or not _ANCHORS.issuperset(anchors):
        raise InputError(where, "phase or after_anchor is none of the known words")
    row |= {"after": tuple(after), "after_delay_us": tuple(delays), "after_anchor": tuple(anchors)}
    return SentRequest(*_all_values(row))


def with_prediction(row: SentRequest, cached_tokens: int | None) -> SentRequest:
    """By position: `replace` takes four times as long, and a run has a hundred thousand rows."""
    values = list(_values(row))
    values[_PREDICTED] = cached_tokens
    return SentRequest(*values)
