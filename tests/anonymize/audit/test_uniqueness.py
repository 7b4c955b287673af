from __future__ import annotations

from dataclasses import replace

from anonymize.audit.uniqueness import measure, uniqueness_summary, uniqueness_table
from corpus.session import Session
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, session_of, user


def with_lengths(*lengths: int, agents: tuple[int, ...] = ()) -> Session:
    made = session_of([exchange(1, claude_body([user("hi")]), claude_answer({"type": "text", "text": "hello"}))])
    return replace(
        made,
        requests=tuple(
            replace(made.requests[0], request=n, input_tokens=tokens, agent=agents[n] if agents else 0)
            for n, tokens in enumerate(lengths)
        ),
    )


def test_differences_that_two_sessions_share_are_not_unique() -> None:
    measured = measure([with_lengths(100, 110, 130), with_lengths(500, 510, 517)])
    assert measured.share(1, 1) == 2 / 4  # 10 occurs in both, 20 and 7 in one each
    assert measured.share(1, 2) == 1.0
    assert measured.share(1024, 1) == 0.0


def test_a_difference_that_only_one_session_has_is_unique_however_often_it_has_it() -> None:
    assert measure([with_lengths(0, 10, 20, 30), with_lengths(0, 7)]).share(1, 1) == 1.0


def test_differences_are_taken_within_one_agent() -> None:
    interleaved = with_lengths(100, 5_000, 110, 5_010, agents=(0, 1, 0, 1))
    assert measure([interleaved, with_lengths(3, 13)]).share(1, 1) == 0.0


def test_sessions_too_short_for_a_run_have_no_share() -> None:
    measured = measure([with_lengths(100)])
    assert measured.share(1, 1) is None
    assert "none are unique" in uniqueness_summary(measured)


def test_the_table_has_a_row_for_every_step() -> None:
    table = uniqueness_table(measure([with_lengths(0, 1, 3), with_lengths(0, 1, 9)]))
    assert table.splitlines()[2] == "| 1 token | 50.0 % | 100.0 % | none | none |"
    assert len(table.splitlines()) == 7
