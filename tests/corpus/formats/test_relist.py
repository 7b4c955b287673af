from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from corpus.blocks import expand_blocks
from corpus.formats.relist import IdSpace
from corpus.session import Session
from tests.corpus.formats.sessions import make_session, sessions, shared


@given(sessions(), st.sampled_from([16, 64, 512]))
def test_lists_are_rounded_up_and_share_what_the_session_shares(session: Session, size: int) -> None:
    own = [ids.tolist() for ids in expand_blocks([r.blocks for r in session.requests])]
    lists = IdSpace().lists(session, size)
    assert [len(ids) for ids in lists] == [-(-r.input_tokens // size) for r in session.requests]
    for a, one in enumerate(session.requests):
        for b, other in enumerate(session.requests[:a]):
            common = shared(own[a], own[b]) * session.block_size
            whole = min(one.input_tokens, other.input_tokens) // size
            assert shared(lists[a], lists[b]) >= min(common // size, whole)
            if common // size < whole and one.input_tokens != other.input_tokens:
                assert shared(lists[a], lists[b]) <= -(-common // size)


def test_every_eighth_id_of_a_chain_is_a_chain() -> None:
    prompts = [list(range(1, 25)), [*range(1, 17), *range(30, 38)]]
    session = make_session([{"input_tokens": 24 * 64}, {"input_tokens": 24 * 64}], prompts)
    assert IdSpace().lists(session, 512) == [[0, 1, 2], [0, 1, 3]]


def test_a_block_becomes_four_of_a_quarter() -> None:
    session = make_session([{"input_tokens": 130}, {"input_tokens": 64}], [[1, 2], [1]])
    assert IdSpace(5).lists(session, 16) == [[5, 6, 7, 8, 9, 10, 11, 12, 13], [5, 6, 7, 8]]


def test_a_prompt_sent_again_keeps_its_tail_and_short_prompts_share_nothing() -> None:
    rows = [
        {"input_tokens": 100},
        {"input_tokens": 100},
        {"input_tokens": 90},
        {"input_tokens": 9},
        {"input_tokens": 9},
    ]
    lists = IdSpace().lists(make_session(rows, [[1], [1], [1], [], []]), 64)
    assert lists == [[0, 1], [0, 1], [0, 2], [3], [4]]


def test_sessions_share_no_ids() -> None:
    ids = IdSpace()
    lists = [ids.lists(make_session([{}], [[1]], number), 64) for number in (0, 1)]
    assert lists == [[[0]], [[1]]]


def test_names_work_where_sizes_do_not_divide() -> None:
    prompts = [[1, 2, 3, 4], [1, 2, 3, 5]]
    session = make_session([{"input_tokens": 96}, {"input_tokens": 96}], prompts, block_size=24)
    assert IdSpace().lists(session, 16) == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 6, 7]]
