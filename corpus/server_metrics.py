"""What a server told about itself during a run, in `server.parquet` beside the rows: the names, and the file.

One row a sample, and one name for one meaning, whatever engine it came from. Counters stay as the server gives them,
counted from its own start: a reader takes differences (`rates`). A source is one metrics URL. A missing file means that
nobody asked for metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from corpus.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FILE_NAME: Final = "server.parquet"
_GROUP_ROWS: Final = 8_192


@dataclass(frozen=True, slots=True)
class Metric:
    kind: Literal["gauge", "counter"]
    unit: str
    meaning: str


METRICS: Final[Mapping[str, Metric]] = {
    "running": Metric("gauge", "requests", "being computed"),
    "waiting": Metric("gauge", "requests", "in the queue"),
    "kv_used_share": Metric("gauge", "share", "of the KV cache in use, 0 to 1"),
    "prompt_tokens": Metric("counter", "tokens", "of prompts, cached ones included"),
    "output_tokens": Metric("counter", "tokens", "generated"),
    "hbm_query_tokens": Metric("counter", "tokens", "looked up in the prefix cache in GPU memory"),
    "hbm_hit_tokens": Metric("counter", "tokens", "found there"),
    "dram_query_tokens": Metric(
        "counter", "tokens", "looked up in the cache behind it (host memory, disk, other machines)"
    ),
    "dram_hit_tokens": Metric("counter", "tokens", "found there"),
    "prompt_computed_tokens": Metric("counter", "tokens", "of prompts, computed"),
    "prompt_local_hit_tokens": Metric("counter", "tokens", "of prompts, from the cache in GPU memory"),
    "prompt_external_hit_tokens": Metric("counter", "tokens", "of prompts, from a cache behind it"),
    "preemptions": Metric("counter", "requests", "thrown out for want of memory and begun again"),
    "spec_draft_tokens": Metric("counter", "tokens", "proposed by speculative decoding"),
    "spec_accepted_tokens": Metric("counter", "tokens", "of those, accepted"),
    "queue_s": Metric("counter", "s", "that requests waited before they were computed, added up"),
    "prefill_s": Metric("counter", "s", "that prompts were computed, added up"),
    "power_w": Metric("gauge", "W", "drawn, all chips of the source together"),
    "energy_j": Metric("counter", "J", "used, all chips of the source together"),
}


@dataclass(frozen=True, slots=True)
class ServerSample:
    at_us: int  # from the run's start, on the clock of the rows
    source: str
    name: str  # of `METRICS`
    value: float


_COLUMNS: Final = ("at_us", "source", "name", "value")


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa  # where a file is written or read, as in `corpus.run`

    kinds = (pa.int64(), pa.string(), pa.string(), pa.float64())
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in zip(_COLUMNS, kinds, strict=True)])


class ServerMetricsWriter:
    """Appends samples to one file, a row group at a time; made by `writing_server_metrics`."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._held: list[ServerSample] = []

    def add(self, samples: Iterable[ServerSample]) -> None:
        self._held.extend(samples)
        if len(self._held) >= _GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        if self._held:
            import pyarrow as pa

            columns = [[getattr(sample, name) for sample in self._held] for name in _COLUMNS]
            self._writer.write_table(pa.table(columns, schema=_schema()))
            self._held.clear()


@contextmanager
def writing_server_metrics(run: Path) -> Iterator[ServerMetricsWriter]:
    """For the directory of a run that is being written; the file can be read when the block is left."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(run / FILE_NAME, _schema(), compression="zstd") as file:
        writer = ServerMetricsWriter(file)
        try:
            yield writer
        finally:
            writer.flush()


def read_server_metrics(run: Path) -> tuple[ServerSample, ...]:
    """In the order scraped; empty when the run has none. InputError for a broken file."""
    path = run / FILE_NAME
    if not path.is_file():
        return ()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path).select(list(_COLUMNS)).cast(_schema())
    except KeyError as error:
        raise InputError(path, f"lacks a column ({error.args[0]})", "replay again") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, ValueError) as error:
        raise InputError(path, f"cannot be read ({str(error).splitlines()[0]})", "replay again") from error
    columns = [table.column(name).to_pylist() for name in _COLUMNS]
    return tuple(ServerSample(*row) for row in zip(*columns, strict=True))


def rates(samples: Iterable[ServerSample]) -> list[tuple[int, float]]:
    """(microseconds, amount a second since the sample before) of one counter of one source, in time order.

    A counter that falls belongs to a server that was started again: it counts from zero.
    """
    found: list[tuple[int, float]] = []
    before: ServerSample | None = None
    for sample in samples:
        if before is not None and sample.at_us > before.at_us:
            grown = sample.value - before.value if sample.value >= before.value else sample.value
            found.append((sample.at_us, grown / ((sample.at_us - before.at_us) / 1e6)))
        before = sample
    return found
