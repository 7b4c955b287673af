from __future__ import annotations

import pytest

from agentreel.console import counted, print_json


def test_json_is_one_line_and_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": None, "b": [1, "é"]})
    assert capsys.readouterr() == ('{"a":null,"b":[1,"é"]}\n', "")


def test_counting_passes_items_on_and_draws_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(counted("reading", iter([1, 2, 3]), 3)) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")
