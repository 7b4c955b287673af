"""What only Claude Code does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.clients.chain import Recorded
from tests.clients.scenarios import SCENARIOS

Record = Callable[[str], Recorded]


@pytest.mark.parametrize("name", [name for name, one in SCENARIOS.items() if one.client == "claude" and not one.typed])
def test_it_wants_nothing_but_the_model(name: str, recorded: Record) -> None:
    assert recorded(name).refused == ()


def test_the_tools_really_ran(recorded: Record) -> None:
    run = recorded("claude-loop")
    assert (run.repository / "NOTES.md").read_text().startswith("state: closed\n")
    assert [call.tool for call in run.session.tool_calls] == ["read", "shell", "edit", "shell"]
    assert not any(call.is_error for call in run.session.tool_calls)
    assert [(call.emit, call.result) for call in run.session.tool_calls] == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_background_agents_run_at_the_same_time_and_report_by_notification(recorded: Record) -> None:
    run = recorded("claude-parallel")
    joins = [edge for edge in run.session.edges if edge.kind == "join"]
    assert {edge.evidence for edge in joins} == {"notification"}
    assert len(joins) == 2
    left, right = (run.session.requests[run.requests_of(agent)[0]] for agent in (1, 2))
    ends = [run.session.requests[run.requests_of(agent)[-1]].t_end_us or 0 for agent in (1, 2)]
    assert max(left.t_start_us, right.t_start_us) < min(ends)
    # main went on meanwhile: its second request came before the first report
    assert run.requests_of(0)[1] < min(edge.dst for edge in joins)


@pytest.mark.parametrize("name", ["claude-nested", "claude-nested-background"])
def test_a_nested_agent_reports_to_the_agent_that_started_it(name: str, recorded: Record) -> None:
    run = recorded(name)
    owner = [request.agent for request in run.session.requests]
    inner = [edge for edge in run.session.edges if edge.kind == "join" and owner[edge.src] >= 2]
    assert {owner[edge.dst] for edge in inner} == {1}
    assert {edge.evidence for edge in inner} == {"tool_result"}


def test_a_compaction_is_a_step_of_its_stream(recorded: Record) -> None:
    run = recorded("claude-compaction")
    assert [request.purpose for request in run.session.requests] == ["turn"] * 6 + ["compaction"] + ["turn"] * 3
    assert [(edge.src, edge.dst, edge.kind, edge.evidence) for edge in run.session.edges] == [
        (number, number + 1, "sequence", "id") for number in range(9)
    ]
    shared = next(n for n, (one, two) in enumerate(zip(run.prompts[6], run.prompts[7], strict=False)) if one != two)
    assert shared > 100  # tools and system texts stay


def test_retries_are_told_from_new_requests(recorded: Record) -> None:
    run = recorded("claude-faults")
    failed = [row for row in run.rows if row["end"] != "complete" or row["status"] >= 400]
    assert [row["status"] for row in failed] == [429, 529, 200, 200, None]
    assert {row["retry_of"] for row in run.rows if row["retry_of"]} == {row["exchange_id"] for row in failed}
    assert [row["stream"] for row in run.rows if row["purpose"] == "turn"].count(False) == 2  # after the error event
