from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from corpus.formats.weka_export import export_session, to_seconds
from corpus.formats.weka_reader import session_from_weka, to_us
from corpus.formats.weka_shape import check_trace
from corpus.session import Agent, Session


def groups(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [entry for entry in trace["requests"] if entry["type"] == "subagent"]


@given(st.integers(0, 2**52))
def test_microseconds_survive_being_written_as_seconds(us: int) -> None:
    assert to_us(to_seconds(us)) == us


def test_export_is_strict_weka_in_session_time(captured: Session) -> None:
    trace = check_trace(export_session(captured), "export")
    assert session_from_weka(trace, "export", 0).source_dialect == "aiperf"
    for group in groups(trace):
        assert group["t"] == group["requests"][0]["t"]
        assert {inner["type"] for inner in group["requests"]} == {"n"}


def test_times_and_sizes_survive_export_and_import(captured: Session) -> None:
    again = session_from_weka(export_session(captured), "export", 0)
    kept = [r for r in captured.requests if r.end == "complete"]
    assert [(r.agent, r.t_start_us, r.t_end_us, r.input_tokens) for r in again.requests] == [
        (r.agent, r.t_start_us, r.t_end_us, r.input_tokens) for r in kept
    ]


def test_failed_attempts_and_requests_that_generate_nothing_are_left_out_and_counted(captured: Session) -> None:
    first, *rest = captured.requests
    counting = replace(captured, requests=(replace(first, purpose="count_tokens"), *rest))
    assert export_session(captured)["totals"]["left_out"] == 1
    assert export_session(counting)["totals"]["left_out"] == 2
    assert export_session(replace(captured, requests=(replace(first, status=529), *rest)))["totals"]["left_out"] == 2


def test_deeper_agents_are_hoisted_with_a_path(captured: Session) -> None:
    trace = export_session(captured)
    assert [(g["agent_id"], g["subagent_type"]) for g in groups(trace)] == [
        ("agent_001", "Subagent"),
        ("agent_001/agent_002", "Workflow"),
    ]


def test_group_comes_after_the_main_request_in_front_of_it(captured: Session) -> None:
    assert [entry["type"] for entry in export_session(captured)["requests"]] == ["s", "s", "subagent", "subagent", "s"]


def test_group_that_main_did_not_wait_for_is_launched_without_telemetry(captured: Session) -> None:
    *others, last = captured.requests
    early = replace(captured, requests=(*others, replace(last, t_start_us=8_500_000)))
    assert [g["status"] for g in groups(export_session(captured))] == ["completed", "completed"]
    first, second = groups(export_session(early))
    assert (first["status"], first["duration_ms"], first["total_tokens"]) == ("async_launched", None, None)
    assert second["status"] == "completed"


def test_telemetry_of_a_group_is_that_of_its_requests(captured: Session) -> None:
    first, _ = groups(export_session(captured))
    assert (first["duration_ms"], first["total_tokens"], first["tool_use_count"]) == (3900, 484, 1)


def test_lists_hold_whole_blocks_only(captured: Session) -> None:
    *others, last = captured.requests
    ragged = replace(captured, requests=(*others, replace(last, input_tokens=383)))
    assert export_session(ragged)["requests"][-1]["hash_ids"] == [1, 2, 3, 4, 5]


def test_first_token_time_is_told_of_streaming_main_requests_only(captured: Session) -> None:
    trace = export_session(captured)
    assert trace["requests"][0]["ttft"] == 0.04
    assert all("ttft" not in inner for group in groups(trace) for inner in group["requests"])


def test_think_time_counts_from_the_end_before_in_the_same_stream(captured: Session) -> None:
    trace = export_session(captured)
    main = [entry for entry in trace["requests"] if entry["type"] != "subagent"]
    assert [entry.get("think_time") for entry in main] == [None, 1.0, 4.5]
    assert [inner.get("think_time") for inner in groups(trace)[0]["requests"]] == [None, 1.0]


def test_declared_prefix_fits_the_first_list(captured: Session) -> None:
    trace = export_session(captured)
    assert (trace["tool_tokens"], trace["system_tokens"]) == (100, 60)
    first, *rest = captured.requests
    short = replace(captured, requests=(replace(first, input_tokens=150), *rest))
    assert (export_session(short)["tool_tokens"], export_session(short)["system_tokens"]) == (100, 28)


def test_unknown_output_is_the_providers_count_or_zero(captured: Session) -> None:
    *others, last = captured.requests
    assert export_session(captured)["requests"][-1]["out"] == 13
    unknown = replace(captured, requests=(*others, replace(last, usage=None)))
    assert export_session(unknown)["requests"][-1]["out"] == 0


def test_agent_without_requests_is_no_group(captured: Session) -> None:
    trace = export_session(replace(captured, agents=(*captured.agents, Agent(3, None, "side"))))
    assert trace["totals"]["subagent_count"] == len(groups(trace)) == 2
