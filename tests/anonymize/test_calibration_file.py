from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from anonymize.assessment import assess
from anonymize.calibration_file import calibration_json, read_calibration, report_json
from anonymize.fitting import fit_calibration
from anonymize.reuse import assess_reuse
from corpus.errors import InputError
from tests.anonymize.exchanges import WordTokenizer
from tests.anonymize.providers import sessions

TOKENIZER = WordTokenizer()


def written(path: Path, change: Any = None) -> Path:
    made = sessions(1, 6)
    calibration = fit_calibration(made, TOKENIZER.name, TOKENIZER.sha256)
    value: Any = calibration_json(calibration, report_json(assess(made), {}), "test")
    if change is not None:
        change(value)
    path.write_bytes(orjson.dumps(value))
    return path


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    made = fit_calibration(sessions(1, 6), TOKENIZER.name, TOKENIZER.sha256)
    read = read_calibration(written(tmp_path / "c.json"), TOKENIZER)
    assert set(read.models) == set(made.models)
    for name, fit in made.models.items():
        assert np.array_equal(read.models[name].coefficients, fit.coefficients)
        assert (read.models[name].scale, read.models[name].spread) == (fit.scale, fit.spread)
    assert set(read.providers) == {"anthropic"}


def test_the_report_keeps_held_out_and_pinned_figures_apart() -> None:
    made = sessions(1, 6)
    (report,) = report_json(assess(made), assess_reuse(made)).values()
    assert isinstance(report, dict)
    assert set(report) == {"requests", "sessions", "small_requests_left_out", "raw", "scaled", "fitted", "pinned"}
    ratios = ["p1", "p5", "p50", "p95", "p99"]
    told = replace(made[0].requests[0], read_tokens=1_500, repeated_tokens=10**6)
    (report,) = report_json(assess(made), assess_reuse([replace(made[0], requests=(told,))])).values()
    assert isinstance(report, dict)
    assert list(report["reuse"]) == ["requests", "unread", "predicted_tokens", "read_tokens", "predicted_to_read"]
    assert list(report["fitted"]) == [*ratios, "within_1", "within_2", "within_5", "within_10", "token_weighted"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": "other"}', b"\xff"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is no calibration"):
        read_calibration(path, TOKENIZER)


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_calibration(tmp_path / "none.json", TOKENIZER)


def test_a_calibration_for_another_tokenizer_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json", lambda value: value.update(tokenizer="qwen-3", tokenizer_sha256="1" * 64))
    with pytest.raises(InputError, match=r"made with the tokenizer qwen-3, not words.*--tokenizer qwen-3"):
        read_calibration(path, TOKENIZER)


@pytest.mark.parametrize("number", [-1.0, None, "x", 1e999])
def test_a_broken_number_is_refused(tmp_path: Path, number: object) -> None:
    def spoil(value: Any) -> None:
        value["models"]["claude-opus-5-5"]["coefficients"]["user_bytes"] = number

    with pytest.raises(InputError, match=r"broken calibration"):
        read_calibration(written(tmp_path / "c.json", spoil), TOKENIZER)
