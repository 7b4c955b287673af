from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import replay.fidelity
from corpus.run import SentRequest
from replay.fidelity import judge
from tests.replay.rehearsal import row_of


def first(**changes: Any) -> SentRequest:
    return row_of(**{"request": 0, "sent_us": 0, "end_us": 10_000, **changes})


def second(sent_us: int | None, delay_us: int = 5_000, anchor: str = "end", **changes: Any) -> SentRequest:
    waits = {"after": (0,), "after_delay_us": (delay_us,), "after_anchor": (anchor,)}
    return row_of(**{"request": 1, "sent_us": sent_us, **waits, **changes})


@pytest.mark.parametrize(
    ("row", "violations"),
    [
        (second(15_000), 0),
        (second(14_000), 0),  # within the tolerance of 1 ms
        (second(13_999), 1),  # planted: too early after its predecessor's end
        (second(9_999, delay_us=0), 1),  # planted: before the end, by a microsecond; no tolerance there
        (second(10_000, delay_us=0), 0),
        (second(4_999, anchor="start"), 0),
        (second(3_999, anchor="start"), 1),
        (second(-1, delay_us=0, anchor="start"), 1),
    ],
)
def test_early_send_is_found(row: SentRequest, violations: int) -> None:
    assert judge([first(), row]).edge_violations == violations


def test_predecessor_that_is_missing_or_never_ended_is_a_violation() -> None:
    assert judge([second(99_000)]).edge_violations == 1
    assert judge([first(end_us=None), second(99_000)]).edge_violations == 1
    assert judge([first(play=1), second(99_000)]).edge_violations == 1


def test_request_that_never_left_violates_nothing() -> None:
    fidelity = judge([first(), second(None)])
    assert (fidelity.edges, fidelity.edge_violations) == (0, 0)
    assert len(fidelity.lateness_us) == 1


def test_each_of_several_dependencies_is_judged() -> None:
    row = row_of(request=2, sent_us=12_000, after=(0, 1), after_delay_us=(5_000, 0), after_anchor=("end", "end"))
    fidelity = judge([first(), row_of(request=1, sent_us=0, end_us=20_000), row])
    assert (fidelity.edges, fidelity.edge_violations) == (2, 2)


def test_lateness_is_measured_from_the_recomputed_due_moment_of_profiled_requests() -> None:
    rows = [first(phase="warmup", sent_us=7_000), second(15_250, due_us=1)]
    assert judge(rows).lateness_us == (250,)


def test_root_is_due_its_offset_after_its_release() -> None:
    late = row_of(request=0, release_us=1_000_000, root_offset_us=500_000, sent_us=1_500_040)
    early = row_of(request=1, release_us=1_000_000, root_offset_us=500_000, sent_us=1_400_000)
    fidelity = judge([late, early])
    assert fidelity.lateness_us == (40, -100_000)
    assert (fidelity.early_roots, fidelity.edge_violations) == (1, 0)


def test_token_errors_are_counted_minus_planned_where_the_server_counts() -> None:
    rows = [
        row_of(request=0, planned_input_tokens=10, measured_input_tokens=13),
        row_of(request=1, planned_input_tokens=10, measured_input_tokens=8),
        row_of(request=2, planned_input_tokens=10),
        row_of(request=3, planned_input_tokens=10, measured_input_tokens=99, phase="warmup"),
    ]
    assert judge(rows).token_errors == (3, -2)


def test_fidelity_shares_no_code_with_what_it_judges() -> None:
    tree = ast.parse(Path(replay.fidelity.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {module for module in imported if module and module.startswith("replay")}
