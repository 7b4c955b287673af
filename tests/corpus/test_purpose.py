from __future__ import annotations

from typing import get_args

from corpus.exchange import Purpose
from corpus.purpose import PARTS, STEPS


def test_every_purpose_has_its_row() -> None:
    assert set(PARTS) == set(get_args(Purpose))


def test_steps_are_what_the_conversation_consists_of() -> None:
    assert {"turn", "compaction"} <= STEPS
    assert STEPS.isdisjoint({"title", "web_search", "count_tokens"})
