from __future__ import annotations

from typing import Any

from corpus.formats.weka import session_from_weka
from corpus.session import Session
from report.declared import count_contradictions

Json = dict[str, Any]


def request(t: float, **values: Any) -> Json:
    plain = {"t": t, "type": "n", "model": "m", "in": 64, "out": 1, "hash_ids": [1], "stop": "", "api_time": 2}
    return plain | values


def group(t: float, *requests: Json, **values: Any) -> Json:
    told = {"agent_id": "a", "subagent_type": "x", "status": "completed", "models": ["m"], "duration_ms": 4000}
    return {"t": t, "type": "subagent", **told, "requests": list(requests), **values}


def counts(*entries: Json, **values: Any) -> dict[str, int]:
    trace = {
        "id": "x",
        "models": ["m"],
        "block_size": 64,
        "hash_id_scope": "local",
        "requests": list(entries),
        **values,
    }
    return {name: n for name, n in count_contradictions(session_from_weka(trace, "f", 0)).items() if n}


def test_what_agrees_is_not_counted() -> None:
    assert counts(request(0), request(10, think_time=8)) == {}


def test_recorded_sessions_declare_nothing(make_session: Any) -> None:
    session: Session = make_session([(0, 0, 1)])
    assert count_contradictions(session) == {}


def test_think_times_are_held_against_the_gap() -> None:
    assert counts(request(0), request(10), request(20, think_time=3)) == {
        "think_time_missing": 1,
        "think_time_differs": 1,
    }
    assert counts(request(0, api_time=9), request(5, think_time=0)) == {"think_time_differs": 1}  # overlap of 4 s


def test_group_times_say_what_was_done_with_them() -> None:
    back = request(20, think_time=18)
    assert counts(request(0), group(8, request(0)), back) == {"group_time_is_end": 1}
    assert counts(request(0), group(5, request(0)), back) == {"group_time_is_end": 1, "group_moved": 1}
    launched = group(3, request(0), status="async_launched", duration_ms=None)
    assert counts(request(0), launched, back) == {"group_launched": 1}
    assert counts(request(0), group(8, request(0))) == {"group_time_is_end": 1, "group_without_join": 1}
    assert counts(request(0, hash_ids=[0]), group(3, request(3)), back) == {}


def test_telemetry_that_cannot_be_is_counted() -> None:
    entries = (request(0), group(30, request(0), duration_ms=20000, total_tokens=0), request(40, think_time=38))
    assert counts(*entries) == {"group_time_is_end": 1, "duration_differs": 1, "zero_total_tokens": 1}


def test_models_and_totals_are_held_against_the_requests() -> None:
    assert counts(request(0), request(10, model="other", think_time=8)) == {"undeclared_model": 1}
    totals = {"parent_tokens": {"input": 64, "output": 1}, "subagent_count": 0}
    assert counts(request(0), totals=totals) == {}
    assert counts(request(0), totals=totals | {"subagent_count": 2}) == {"totals_differ": 1}
    assert counts(request(0), totals={"combined_tokens": {"input": 65}}) == {"totals_differ": 1}
    assert counts(request(0), totals={"combined_tokens": "many"}) == {}


def test_streams_the_recorder_lost_are_counted() -> None:
    assert counts(request(0, type="s", api_time=None)) == {"unparsed_stream": 1}
    assert counts(request(0, type="s", api_time=None, stop="end_turn")) == {}
