from __future__ import annotations

from corpus.rows import rows_of, session_of
from corpus.schemas import SCHEMAS
from corpus.session import Session


def test_rows_have_a_value_for_every_column(captured: Session) -> None:
    for name, rows in rows_of(captured).items():
        assert {len(row) for row in rows} == {len(SCHEMAS[name])}


def test_session_comes_back_from_its_rows(captured: Session) -> None:
    rows = rows_of(captured)
    parts = {name: iter(rows[name]) for name in ("agents", "requests", "tool_calls", "edges")}
    assert session_of(rows["sessions"][0], parts) == captured
