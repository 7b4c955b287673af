from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from anonymize.fidelity import fidelity_table
from corpus.errors import InputError


def test_a_row_a_model_with_what_is_known(tmp_path: Path) -> None:
    stages = {"raw": {"p50": 0.8}, "fitted": {"p50": 1.0, "p5": 0.98, "p95": 1.021, "within_5": 0.99}}
    report = {"claude-opus-5-5": {"requests": 12, "sessions": 3} | stages, "secret-model": {"requests": 1}}
    path = tmp_path / "calibration.json"
    path.write_bytes(orjson.dumps({"report": report}))
    lines = fidelity_table(path).splitlines()
    assert "| claude-opus-5-5 | 12 | 0.800 | 1.000 | 0.980 | 1.021 | 0.990 | unknown |" in lines
    assert "secret" not in fidelity_table(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"report": {"m": 1}}', b'{"report": {"m": {}}}'])
def test_what_is_no_calibration_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_bytes(content)
    with pytest.raises(InputError, match="is no calibration"):
        fidelity_table(tmp_path / "odd.json")
    with pytest.raises(InputError, match="cannot be read"):
        fidelity_table(tmp_path / "none.json")
