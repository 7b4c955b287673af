from __future__ import annotations

from collections.abc import Callable

from corpus.session import Session
from report.anomalies import MEANINGS, count_anomalies

Make = Callable[..., Session]


def test_plain_session_has_none(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (0, 2, 3)], prompts=[[1, 2], [1, 2, 3]])
    assert not +count_anomalies(session)


def test_each_kind_is_counted_once(make_session: Make) -> None:
    session = make_session(
        [(0, 0, None), (0, 1, 9), (0, 5, 6), (0, 7, 8), (0, 10, 11)],
        {1: {"output_tokens": 0}, 2: {"model": 1}, 3: {"model": 1, "retry_of": 2}, 4: {"model": 1, "status": 529}},
        prompts=[[1, 2, 3, 4], [1, 2, 3, 4], [1, 7], [9], []],
    )
    assert dict(+count_anomalies(session)) == {
        "missing_api_time": 1,
        "zero_output": 1,
        "negative_gap": 1,  # request 2 within 1; 0 has no known end
        "model_switch": 1,
        "retry": 1,
        "not_complete": 1,
        "prefix_halved": 1,
        "zero_prefix": 1,
        "no_blocks": 1,
        "non_dense_ids": 3,  # 5, 6, 8
    }


def test_subagents_on_another_model_are_no_switch(make_session: Make) -> None:
    session = make_session([(0, 0, 1), (1, 2, 3), (0, 4, 5)], {1: {"model": 1}})
    assert count_anomalies(session)["model_switch"] == 0


def test_every_name_is_explained(make_session: Make) -> None:
    assert set(count_anomalies(make_session([(0, 0, 1)]))) | {"duplicate_session"} == set(MEANINGS)
