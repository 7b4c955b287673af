from __future__ import annotations

import pytest

from corpus.formats.conversations import Row
from corpus.formats.mooncake_rows import session_row, to_ms


@pytest.mark.parametrize(("us", "ms"), [(0, 0), (2000, 2), (1500, 1.5), (1, 0.001)])
def test_milliseconds_are_whole_where_they_can_be(us: int, ms: float) -> None:
    assert (to_ms(us), type(to_ms(us))) == (ms, type(ms))


def test_row_after_another_holds_what_is_new() -> None:
    before = Row(0, "a", 0, 1000, 24, [1, 2])
    row = Row(1, "a", 5000, 2000, 7, [1, 2, 3, 4])
    assert session_row(row, before, 512) == {
        "session_id": "a",
        "timestamp": 5,
        "input_length": 976,
        "output_length": 7,
        "hash_ids": [3, 4],
    }
    assert session_row(row._replace(conversation=None), None, 512)["hash_ids"] == [1, 2, 3, 4]
