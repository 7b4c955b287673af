from __future__ import annotations

from typing import get_args

from corpus.session import Evidence
from dagbuild.evidence import STRENGTH, stronger


def test_every_evidence_has_its_place() -> None:
    assert sorted(STRENGTH) == sorted(get_args(Evidence))


def test_what_was_heard_beats_time() -> None:
    assert stronger("timing", "notification") == stronger("notification", "timing") == "notification"
    assert stronger("tool_result", "id") == "id"
