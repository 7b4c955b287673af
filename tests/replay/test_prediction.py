from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from corpus.run import SentRequest
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


ORDERS = tuple(permutations((0, 1, 2)))


def int_of(cached: int | None) -> int:
    assert cached is not None
    return cached


def rows(*sent: tuple[int, int], play: int = 0, status: int | None = 200) -> list[SentRequest]:
    """(request, sent_us) each"""
    return [
        row_of(
            play=play,
            request=request,
            sent_us=sent_us,
            status=status,
            planned_input_tokens=SESSION.requests[request].input_tokens,
        )
        for request, sent_us in sent
    ]


def test_later_request_finds_whole_blocks_of_what_was_sent_before() -> None:
    assert predict_play(rows((0, 0), (1, 20)), SESSION) == [0, 128]


def test_prompt_that_is_there_whole_still_computes_its_last_block() -> None:
    assert predict_play(rows((1, 0), (2, 20)), SESSION) == [0, 128]


def test_request_sent_while_its_prefix_is_still_being_computed_shares_it() -> None:
    pair = [replace(row, first_token_us=1000, end_us=2000) for row in rows((0, 0), (1, 1))]
    assert predict_play(pair, SESSION) == [0, 128]


def test_prompts_that_arrive_in_another_order_swap_shares_and_keep_their_sum() -> None:
    sums = {sum(map(int_of, predict_play(rows(*zip(order, (0, 1, 2), strict=True)), SESSION))) for order in ORDERS}
    assert sums == {256}


def test_refused_request_leaves_nothing_behind() -> None:
    for status in (400, 503, None):
        assert predict_play(rows((0, 0), status=status) + rows((1, 20)), SESSION) == [0, 0]


def test_listed_block_that_the_prompt_does_not_fill_is_not_counted() -> None:
    assert predict_play(rows((1, 0), (4, 10), (4, 20)), SESSION) == [0, 192, 192]


def test_order_of_sending_counts_and_not_the_order_of_rows() -> None:
    assert predict_play(rows((1, 20), (0, 0)), SESSION) == [128, 0]


def test_request_that_never_left_has_no_prediction() -> None:
    unsent = row_of(request=0, sent_us=None, planned_input_tokens=140)
    assert predict_play([unsent], SESSION) == [None]


def test_plays_share_nothing_and_rows_keep_their_order() -> None:
    given = rows((0, 0)) + rows((1, 20), play=1) + rows((1, 20))
    predicted = with_predictions(given, {0: SESSION}.__getitem__)
    assert [row.predicted_cached_tokens for row in predicted] == [0, 0, 128]
    assert [row.play for row in predicted] == [0, 1, 0]
