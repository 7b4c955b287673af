from __future__ import annotations

from replay.prediction import predict_play, with_predictions
from tests.replay.rehearsal import Asked, row_of, session_of

SESSION = session_of(
    [
        Asked(0, 1, (1, 2), input_tokens=140),
        Asked(2, 3, (1, 2, 3), input_tokens=192),
        Asked(4, 5, (1, 2, 3), input_tokens=192),
        Asked(6, 7, (9,), input_tokens=64),
        Asked(8, 9, (1, 2, 3, 4), input_tokens=200),  # lists a block more than fits
    ]
)


def rows(*times: tuple[int, int, int | None], play: int = 0) -> list:  # type: ignore[type-arg]  # rows
    return [
        row_of(
            play=play,
            request=request,
            sent_us=sent,
            first_token_us=first,
            planned_input_tokens=SESSION.requests[request].input_tokens,
        )
        for request, sent, first in times
    ]


def test_later_request_finds_whole_blocks_of_what_was_answered_before() -> None:
    assert predict_play(rows((0, 0, 10), (1, 20, 30)), SESSION) == [0, 128]


def test_prompt_that_is_there_whole_still_computes_its_last_block() -> None:
    assert predict_play(rows((1, 0, 10), (2, 20, 30)), SESSION) == [0, 128]


def test_requests_in_flight_together_share_nothing() -> None:
    assert predict_play(rows((1, 0, 10), (2, 5, 15)), SESSION) == [0, 0]


def test_blocks_are_there_at_the_very_moment_of_the_first_token() -> None:
    assert predict_play(rows((0, 0, 10), (1, 10, 30)), SESSION) == [0, 128]


def test_request_without_a_first_token_leaves_nothing_behind() -> None:
    assert predict_play(rows((0, 0, None), (1, 20, 30)), SESSION) == [0, 0]


def test_listed_block_that_the_prompt_does_not_fill_is_not_counted() -> None:
    assert predict_play(rows((1, 0, 1), (4, 10, 11), (4, 20, 21)), SESSION) == [0, 192, 192]


def test_order_of_sending_counts_and_not_the_order_of_rows() -> None:
    assert predict_play(rows((1, 20, 30), (0, 0, 10)), SESSION) == [128, 0]


def test_request_that_never_left_has_no_prediction() -> None:
    unsent = row_of(request=0, sent_us=None, first_token_us=None, planned_input_tokens=140)
    assert predict_play([unsent], SESSION) == [None]


def test_plays_share_nothing_and_rows_keep_their_order() -> None:
    given = rows((0, 0, 10)) + rows((1, 20, 30), play=1) + rows((1, 20, 30))
    predicted = with_predictions(given, {0: SESSION}.__getitem__)
    assert [row.predicted_cached_tokens for row in predicted] == [0, 0, 128]
    assert [row.play for row in predicted] == [0, 1, 0]
