from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from corpus.formats.weka_reader import session_from_weka
from corpus.formats.weka_writer import request_entry, session_to_weka
from corpus.session import Session

EXACT = 0.12345678901  # more digits than a microsecond
TRACE: dict[str, Any] = {
    "id": "x",
    "models": ["other than used"],
    "block_size": 64,
    "hash_id_scope": "local",
    "requests": [
        {
            "t": EXACT,
            "type": "s",
            "model": "m",
            "in": 70,
            "out": 1,
            "hash_ids": [5, 9],
            "api_time": EXACT,
            "ttft": None,
        },
        {"t": 1, "type": "n", "model": "m", "in": 70, "out": 1},
    ],
}


def test_numbers_finer_than_a_microsecond_and_uneven_keys_come_back() -> None:
    session = session_from_weka(TRACE, "f", 0)
    assert session.requests[0].t_start_us == 123_457
    assert session_to_weka(session) == TRACE


def test_only_what_the_fields_cannot_say_is_patched() -> None:
    source = json.loads(session_from_weka(TRACE, "f", 0).source or "")
    assert source["patches"] == {"0": {"set": {"t": EXACT, "api_time": EXACT, "ttft": None}}}


def test_changed_session_is_written_as_changed() -> None:
    session = session_from_weka(TRACE, "f", 0)
    shorter = replace(session, requests=session.requests[:1])
    assert session_to_weka(shorter)["requests"] == TRACE["requests"][:1]


def test_keys_that_say_nothing_are_written_only_when_the_source_always_has_them(captured: Session) -> None:
    silent = replace(captured.requests[0], input_kinds=(), output_kinds=(), stop="")
    required = {"t", "type", "model", "in", "out"}
    assert request_entry(silent, [], captured.models, (), 0).keys() == required
    assert request_entry(silent, [], captured.models, ["hash_ids", "stop"], 0).keys() == required | {"hash_ids", "stop"}


def test_session_without_a_weka_source_is_exported(captured: Session) -> None:
    assert session_to_weka(captured)["id"] == "session-1"
