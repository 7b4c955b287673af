from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


def test_without_a_session_all_are_listed(agentreel: Call, chain: Any) -> None:
    said = agentreel("show", chain.corpus)
    assert "session-1" in said.out
    assert "session-7" in said.out


def test_a_session_is_drawn_by_number_and_by_label(agentreel: Call, chain: Any) -> None:
    by_number = agentreel("show", chain.corpus, "3").out
    assert by_number == agentreel("show", chain.corpus, "session-3").out
    assert "subagent" in by_number
    assert "█" in by_number


def test_an_unknown_session_is_one_line(agentreel: Call, chain: Any) -> None:
    said = agentreel("show", chain.corpus, "99")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "has no session '99'" in said.err
