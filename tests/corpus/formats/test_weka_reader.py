from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import expand_blocks
from corpus.errors import InputError
from corpus.formats.weka_reader import session_from_weka
from corpus.formats.weka_writer import session_to_weka
from corpus.session import Session
from corpus.soundness import find_flaw

Json = dict[str, Any]


def request(t: float, ids: list[int] | None = None, **values: Any) -> Json:
    return {"t": t, "type": "n", "model": "m", "in": 640, "out": 5, "hash_ids": ids or [1], "stop": "", **values}


def group(t: float, *requests: Json, status: str = "completed", **values: Any) -> Json:
    declared = {"agent_id": "a", "subagent_type": "Explore", "status": status, "models": ["m"]}
    return {"t": t, "type": "subagent", **declared, "requests": list(requests), **values}


def trace(*entries: Json) -> Json:
    return {"id": "x", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": list(entries)}


def read(*entries: Json) -> Session:
    return session_from_weka(trace(*entries), "f", 3)


def starts(session: Session, agent: int) -> list[float]:
    return [r.t_start_us / 1e6 for r in session.requests if r.agent == agent]


# -- dialect


def bare(t: float, first_id: int, stop: Json) -> Json:
    entry = request(t, [first_id])
    del entry["stop"]
    return {**entry, **stop}


def test_group_counting_from_its_own_start_is_kv_cache_tester() -> None:
    session = read(request(0, [0]), group(50, request(0), request(5)))
    assert session.source_dialect == "kv-cache-tester"


@pytest.mark.parametrize(
    ("first_id", "stop", "dialect"),
    [(0, {"stop": ""}, "semianalysis"), (1, {}, "semianalysis"), (1, {"stop": ""}, "aiperf")],
)
def test_group_in_session_time_is_told_by_id_base_and_stop(first_id: int, stop: Json, dialect: str) -> None:
    session = read(bare(0, first_id, stop), group(50, bare(50, 1, stop), bare(55, 1, stop)))
    assert session.source_dialect == dialect
    assert starts(session, 1) == [50, 55]


def test_group_that_lost_its_first_request_still_counts_from_its_own_start() -> None:
    assert read(request(0, [1]), group(50, request(3), request(5))).source_dialect == "kv-cache-tester"


def test_fractional_times_are_not_kv_cache_tester() -> None:
    assert read(request(0, [1]), request(2.5, [1, 2])).source_dialect == "aiperf"


def test_named_dialect_wins() -> None:
    found = trace(request(0, [0]), group(50, request(0), request(5)))
    assert session_from_weka(found, "f", 0, "semianalysis").source_dialect == "semianalysis"
    assert starts(session_from_weka(found, "f", 0, "semianalysis"), 1) == [0, 5]


@pytest.mark.parametrize(("ids", "dialect"), [([0, 1], "semianalysis"), ([1, 2], "kv-cache-tester")])
def test_first_id_decides_without_groups(ids: list[int], dialect: str) -> None:
    assert read(request(0, ids)).source_dialect == dialect


def test_stop_decides_without_ids() -> None:
    bare = {"t": 0, "type": "n", "model": "m", "in": 1, "out": 1}
    assert read(bare).source_dialect == "semianalysis"
    assert read({**bare, "stop": "end_turn"}).source_dialect == "kv-cache-tester"


def test_groups_of_both_conventions_are_refused_with_both_places() -> None:
    with pytest.raises(InputError, match=r"^f: requests\[2\]: inner times are relative .* in requests\[1\]; bring"):
        read(request(0), group(20, request(20)), group(50, request(0)))


# -- time


def test_completed_group_ends_when_its_result_came_back() -> None:
    session = read(request(0, api_time=10), group(100, request(0), request(40, api_time=9.5), duration_ms=60_000))
    assert starts(session, 1) == [40, 80]


def test_span_counts_where_it_is_longer_than_the_declared_duration() -> None:
    session = read(request(0, api_time=10), group(100, request(0), request(70, api_time=5), duration_ms=60_000))
    assert starts(session, 1) == [25, 95]


def test_launched_group_starts_at_its_time() -> None:
    session = read(request(0), group(100, request(0), request(70), status="async_launched", duration_ms=None))
    assert starts(session, 1) == [100, 170]


def test_start_moves_forward_to_the_end_of_the_main_request_in_front() -> None:
    early = group(100, request(0), request(40, api_time=5), duration_ms=95_000)
    assert starts(read(request(0, api_time=10), early), 1) == [10, 50]
    within_the_clock = group(100, request(0), request(90, api_time=0.5), duration_ms=90_500)
    assert starts(read(request(0, api_time=10), within_the_clock), 1) == [10, 100]


def test_start_stays_where_the_group_would_end_too_late() -> None:
    session = read(request(0, api_time=80), group(100, request(0), request(60), duration_ms=70_000))
    assert starts(session, 1) == [30, 90]


def test_start_is_never_before_the_session() -> None:
    session = read(group(10, request(0), request(30)), request(31))
    assert starts(session, 1) == [0, 30]


def test_semianalysis_times_are_taken_as_they_are() -> None:
    session = read(request(0), group(50, request(50, api_time=2), request(60), duration_ms=99_000))
    assert starts(session, 1) == [50, 60]


def test_missing_api_time_is_an_unknown_end() -> None:
    session = read(request(1, api_time=2.5), request(5), request(7, api_time=None))
    assert [r.t_end_us for r in session.requests] == [3_500_000, None, None]


def test_stated_times_are_kept_apart_from_what_follows_from_them() -> None:
    session = read(request(1, type="s", api_time=2, ttft=0.25, think_time=0.75))
    (only,) = session.requests
    assert (only.recorded_api_us, only.recorded_ttft_us, only.recorded_think_us) == (2_000_000, 250_000, 750_000)
    assert only.t_first_us is None


# -- requests and agents


def test_requests_are_sorted_by_time_and_remember_their_place() -> None:
    session = read(request(0, api_time=1), group(50, request(0), request(5), duration_ms=40_000), request(20))
    assert [(r.request, r.agent, r.position) for r in session.requests] == [(0, 0, 0), (1, 1, 2), (2, 1, 3), (3, 0, 4)]
    assert json.loads(session.agents[1].source or "")["position"] == 1


def test_each_group_is_an_agent_under_main_in_file_order() -> None:
    session = read(request(0), group(90, request(0), duration_ms=10_000), group(95, request(0), duration_ms=40_000))
    assert [(a.agent, a.parent, a.kind) for a in session.agents] == [
        (0, None, "main"),
        (1, 0, "subagent"),
        (2, 0, "subagent"),
    ]
    assert [r.agent for r in session.requests] == [0, 2, 1]


def test_claude_models_speak_anthropic_and_others_chat() -> None:
    session = read(request(0, model="claude-opus-4-5"), request(1, model="qwen3"))
    assert session.models == ("claude-opus-4-5", "qwen3")
    assert [r.api for r in session.requests] == ["anthropic-messages", "openai-chat"]


def test_session_carries_what_its_source_says() -> None:
    session = read(request(0, [3, 4, 9], type="s", input_types=["text"], output_types=["tool_use"], stop="tool_use"))
    (only,) = session.requests
    assert (session.session, session.label, session.block_size, session.source_format) == (3, "x", 64, "weka")
    assert (only.stream, only.stop, only.input_kinds, only.output_kinds) == (True, "tool_use", ("text",), ("tool_use",))
    assert (only.input_tokens, only.output_tokens, only.usage, only.segments) == (640, 5, None, None)
    assert expand_blocks([only.blocks])[0].tolist() == [3, 4, 9]


def test_totals_that_are_no_json_are_refused() -> None:
    with pytest.raises(InputError, match="f: totals: cannot be kept"):
        session_from_weka({**trace(request(0)), "totals": {"x": float("nan")}}, "f", 0)


# -- nothing is lost

seconds = st.floats(0, 1e6) | st.integers(0, 10**6) | st.integers(0, 10**9).map(lambda ms: ms / 1000)
counts = st.integers(0, 2**40)
words = st.lists(st.sampled_from(["text", "tool_result", "tool_use"]), max_size=2)
inner_requests = st.fixed_dictionaries(
    {"t": seconds, "type": st.just("n"), "model": st.sampled_from(["claude-x", "m"]), "in": counts, "out": counts},
    optional={
        "hash_ids": st.lists(st.integers(0, 5) | st.integers(0, 2**63 - 1), max_size=6),
        "input_types": words,
        "output_types": words,
        "stop": st.sampled_from(["", "end_turn"]),
        "api_time": st.none() | seconds,
        "think_time": st.none() | seconds,
    },
)
streaming = st.tuples(inner_requests, st.dictionaries(st.just("ttft"), st.none() | seconds)).map(
    lambda pair: {**pair[0], "type": "s", **pair[1]}
)
requests = inner_requests | streaming


@st.composite
def traces(draw: st.DrawFn) -> Json:
    first_inner = draw(st.sampled_from(["relative", "absolute"]))

    def placed(inner: list[Json]) -> list[Json]:
        times = sorted(r["t"] for r in inner)
        times = [0, *times[1:]] if first_inner == "relative" else [t + 0.001 for t in times]
        return [{**r, "t": t} for r, t in zip(inner, times, strict=False)]

    declared = {
        "t": st.floats(0.5, 1e6),
        "type": st.just("subagent"),
        "agent_id": st.text(max_size=3),
        "subagent_type": st.just("Explore"),
        "status": st.sampled_from(["completed", "async_launched", "failed"]),
        "models": st.just(["m"]),
        "requests": st.lists(requests, max_size=3).map(placed),
    }
    telemetry = st.none() | counts
    optional = {"duration_ms": telemetry, "total_tokens": telemetry, "tool_use_count": telemetry, "tool_tokens": counts}
    groups = st.fixed_dictionaries(declared, optional=optional)
    return draw(
        st.fixed_dictionaries(
            {
                "id": st.text(max_size=3),
                "models": st.just(["m"]),
                "block_size": st.sampled_from([16, 64]),
                "hash_id_scope": st.just("local"),
                "requests": st.lists(requests | groups, min_size=1, max_size=6),
            },
            optional={"tool_tokens": counts, "totals": st.none() | st.just({"free": [1.5, None]})},
        )
    )


@given(traces())
def test_any_trace_comes_back_equal_from_a_sound_session(original: Json) -> None:
    session = session_from_weka(original, "f", 3)
    assert session_to_weka(session) == original
    assert find_flaw(session) is None
