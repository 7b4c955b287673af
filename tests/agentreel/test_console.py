from __future__ import annotations

import pytest

from agentreel.console import counted, print_json


def test_json_is_one_line_and_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": None, "b": [1, "é"]})
    assert capsys.readouterr() == ('{"a":null,"b":[1,"é"]}\n', "")


def test_counting_passes_items_on_and_draws_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(counted("reading", iter([1, 2, 3]), 3)) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")


def test_a_long_count_without_a_terminal_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 100, 6))
    monkeypatch.setattr("agentreel.console.time.monotonic", lambda: next(clock))
    assert list(counted("reading", iter("abcde"), 5)) == list("abcde")
    assert capsys.readouterr().err == "reading: 1 of 5\nreading: 3 of 5\n"
