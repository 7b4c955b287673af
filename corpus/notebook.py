"""A corpus for notebooks: its five tables as Arrow tables or pandas frames, whole and in memory.

Columns are those of `corpus.schemas`; they join by `session` and by the numbers inside a session. Unknown values stay
unknown: integer columns with nulls become pandas' nullable integers, not floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from corpus.card import Card
from corpus.errors import InputError
from corpus.schemas import SCHEMAS
from corpus.tables import read_card

if TYPE_CHECKING:
    import pandas as pd

TableName = Literal["sessions", "agents", "requests", "tool_calls", "edges"]


@dataclass(frozen=True, slots=True)
class CorpusTables:
    """Tables are read when they are asked for, each time anew."""

    path: Path
    card: Card

    @property
    def sessions(self) -> pa.Table:
        return self.arrow("sessions")

    @property
    def agents(self) -> pa.Table:
        return self.arrow("agents")

    @property
    def requests(self) -> pa.Table:
        return self.arrow("requests")

    @property
    def tool_calls(self) -> pa.Table:
        return self.arrow("tool_calls")

    @property
    def edges(self) -> pa.Table:
        return self.arrow("edges")

    def arrow(self, name: TableName) -> pa.Table:
        """InputError when the table is missing, damaged or has other columns than this agentreel writes."""
        file = self.path / f"{name}.parquet"
        try:
            table = pq.read_table(file, partitioning=None)
        except (pa.ArrowException, OSError) as error:
            problem = f"cannot be read as Parquet ({str(error).splitlines()[0]})"
            raise InputError(file, problem, "copy or build the corpus again") from error
        if not table.schema.equals(SCHEMAS[name]):
            raise InputError(file, "has other columns than this agentreel writes", "build the corpus again")
        return table

    def frame(self, name: TableName) -> pd.DataFrame:
        """The same for pandas; the provider's counts are columns of their own (`usage.input_tokens`, ...)."""
        import pandas as pd

        nullable = {
            pa.int32(): pd.Int32Dtype(),
            pa.int64(): pd.Int64Dtype(),
            pa.bool_(): pd.BooleanDtype(),
            pa.string(): pd.StringDtype(),
        }
        return self.arrow(name).flatten().to_pandas(types_mapper=nullable.get)


def open_corpus(path: str | Path) -> CorpusTables:
    """InputError when `path` is no corpus."""
    return CorpusTables(Path(path), read_card(Path(path)))
