from __future__ import annotations

import pytest

from corpus.errors import InputError
from corpus.formats.conversations import Row
from corpus.formats.mooncake_rows import refuse_text, session_row, to_ms


@pytest.mark.parametrize(("us", "ms"), [(0, 0), (2000, 2), (1500, 1.5), (1, 0.001)])
def test_milliseconds_are_whole_where_they_can_be(us: int, ms: float) -> None:
    assert (to_ms(us), type(to_ms(us))) == (ms, type(ms))


@pytest.mark.parametrize("key", ["text_input", "messages", "tools", "payload", "output_token_ids"])
def test_what_was_said_is_refused_even_beside_lengths(key: str) -> None:
    with pytest.raises(InputError, match=f"{key}: is text, which no corpus keeps"):
        refuse_text({"input_length": 3, key: ["x"]}, "t.jsonl: line 1")
    refuse_text({"input_length": 3, key: None}, "t.jsonl: line 1")


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
