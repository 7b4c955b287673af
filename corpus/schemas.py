"""The five tables of a corpus: their columns and how each is packed.

Integers are packed as deltas, words as dictionaries, both under zstd 3: numbers that grow by the turn and lists that
are runs nearly vanish. A corpus is read back against these very schemas, so a change here is a new `CORPUS_VERSION`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq


def _column(name: str, kind: pa.DataType, *, nullable: bool = False) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=nullable)


def _list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable=False))


_INDEX, _COUNT, _TIME, _WORD, _FLAG = pa.int32(), pa.int64(), pa.int64(), pa.string(), pa.bool_()
_USAGE = pa.struct(
    [
        _column(name, _COUNT, nullable=True)
        for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
    ]
)
_ATTEMPT = pa.struct(
    [
        _column("lead_us", _TIME),
        _column("duration_us", _TIME, nullable=True),
        _column("end", _WORD),
        _column("status", _INDEX, nullable=True),
        _column("repeated", _FLAG),
    ]
)
_DELIVERY = pa.struct([_column("request", _INDEX), _column("evidence", _WORD)])

SCHEMAS: Final[dict[str, pa.Schema]] = {
    "sessions": pa.schema(
        [
            _column("session", _INDEX),
            _column("source_format", _WORD),
            _column("source_dialect", _WORD, nullable=True),
            _column("harness", _WORD, nullable=True),
            _column("harness_version", _list(_INDEX)),
            _column("block_size", _INDEX),
            _column("models", _list(_WORD)),
            _column("source", _WORD, nullable=True),
        ]
    ),
    "agents": pa.schema(
        [
            _column("session", _INDEX),
            _column("agent", _INDEX),
            _column("parent", _INDEX, nullable=True),
            _column("kind", _WORD),
            _column("source", _WORD, nullable=True),
        ]
    ),
    "requests": pa.schema(
        [
            _column("session", _INDEX),
            _column("request", _INDEX),
            _column("agent", _INDEX),
            _column("position", _INDEX),
            _column("purpose", _WORD),
            _column("api", _WORD),
            _column("stream", _FLAG, nullable=True),
            _column("model", _INDEX),
            _column("t_start_us", _TIME),
            _column("t_first_us", _TIME, nullable=True),
            _column("t_end_us", _TIME, nullable=True),
            _column("end", _WORD),
            _column("status", _INDEX, nullable=True),
            _column("retry_of", _INDEX, nullable=True),
            _column("stop", _WORD),
            _column("input_kinds", _list(_WORD)),
            _column("output_kinds", _list(_WORD)),
            _column("input_tokens", _COUNT),
            _column("output_tokens", _COUNT, nullable=True),
            _column("usage", _USAGE, nullable=True),
            _column("base", _INDEX),
            _column("keep", _INDEX),
            _column("run_start", _list(_COUNT)),
            _column("run_len", _list(_INDEX)),
            _column("keep_segments", _INDEX, nullable=True),  # null: the source has no segments
            _column("segment_roles", _list(_WORD)),
            _column("segment_tokens", _list(_COUNT)),
            _column("recorded_think_us", _TIME, nullable=True),
            _column("recorded_api_us", _TIME, nullable=True),
            _column("recorded_ttft_us", _TIME, nullable=True),
            _column("attempts", _list(_ATTEMPT)),
        ]
    ),
    "tool_calls": pa.schema(
        [
            _column("session", _INDEX),
            _column("call", _INDEX),
            _column("emit", _INDEX),
            _column("result", _INDEX, nullable=True),
            _column("tool", _WORD),
            _column("is_error", _FLAG, nullable=True),
            _column("spawned", _INDEX, nullable=True),
            _column("deliveries", _list(_DELIVERY)),
        ]
    ),
    "edges": pa.schema(
        [
            _column("session", _INDEX),
            _column("src", _INDEX),
            _column("dst", _INDEX),
            _column("kind", _WORD),
            _column("delay_us", _TIME),
            _column("anchor", _WORD),
            _column("evidence", _WORD),
        ]
    ),
}


def open_writer(path: str, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer with this project's packing; statistics only on `session`, which is what readers prune by."""
    leaves = [leaf for column in schema for leaf in _leaves(column.name, column.type)]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=[name for name, kind in leaves if pa.types.is_string(kind)],  # type: ignore[arg-type]  # the stubs know only bool
        column_encoding={name: "DELTA_BINARY_PACKED" for name, kind in leaves if pa.types.is_integer(kind)},
        write_statistics=["session"],
        write_page_checksum=True,
        store_schema=False,
    )


def _leaves(path: str, kind: Any) -> Iterator[tuple[str, pa.DataType]]:
    """Parquet's own column paths: lists and structs are columns of their leaves."""
    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for inner in kind:
            yield from _leaves(f"{path}.{inner.name}", inner.type)
    else:
        yield path, kind
