"""Server metrics on disk: round trip in any number of row groups, one-line errors, counters as rates."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.errors import InputError
from corpus.server_metrics import (
    FILE_NAME,
    METRICS,
    ServerSample,
    rates,
    read_server_metrics,
    writing_server_metrics,
)

SAMPLES = st.builds(
    ServerSample,
    st.integers(0, 2**62),
    st.sampled_from(["http://127.0.0.1:1/metrics", "gpu"]),
    st.sampled_from(sorted(METRICS)),
    st.floats(0, allow_infinity=False),
)


@given(batches=st.lists(st.lists(SAMPLES, max_size=4), max_size=4))
def test_what_is_written_is_read_back_in_order(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[ServerSample]]
) -> None:
    run = tmp_path_factory.mktemp("run")
    with writing_server_metrics(run) as writer:
        for batch in batches:
            writer.add(batch)
            writer.flush()
    assert read_server_metrics(run) == tuple(sample for batch in batches for sample in batch)


def test_many_samples_are_written_in_row_groups_while_they_come(tmp_path: Path) -> None:
    with writing_server_metrics(tmp_path) as writer:
        for at in range(20_000):
            writer.add([ServerSample(at, "s", "running", 1.0)])
    assert pq.ParquetFile(tmp_path / FILE_NAME).num_row_groups == 3
    assert len(read_server_metrics(tmp_path)) == 20_000


def test_a_run_without_metrics_has_no_samples(tmp_path: Path) -> None:
    assert read_server_metrics(tmp_path) == ()


def test_a_file_that_is_no_table_is_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"PAR1 but not really")
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_server_metrics(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_file_with_another_shape_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at_us": [1], "source": ["s"]}), tmp_path / FILE_NAME)
    with pytest.raises(InputError, match="lacks a column"):
        read_server_metrics(tmp_path)


def test_rates_are_differences_over_time() -> None:
    counted = [
        ServerSample(at, "s", "output_tokens", value) for at, value in ((0, 10.0), (500_000, 20.0), (2_500_000, 24.0))
    ]
    assert rates(counted) == [(500_000, 20.0), (2_500_000, 2.0)]


def test_a_counter_that_falls_was_started_again() -> None:
    counted = [ServerSample(0, "s", "output_tokens", 100.0), ServerSample(1_000_000, "s", "output_tokens", 7.0)]
    assert rates(counted) == [(1_000_000, 7.0)]
