from __future__ import annotations

from dataclasses import replace

from corpus.session import Session


def test_captured_session_is_named_by_its_number_from_one(captured: Session) -> None:
    assert captured.label == "session-1"
    assert replace(captured, session=41).label == "session-42"


def test_imported_session_keeps_its_name(captured: Session) -> None:
    assert replace(captured, source='{"id": "trace_0277", "declared": {}}').label == "trace_0277"


def test_import_without_a_name_is_named_by_its_number(captured: Session) -> None:
    assert replace(captured, source="{}").label == "session-1"
