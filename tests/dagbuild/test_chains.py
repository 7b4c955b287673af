from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from corpus.session import Session
from dagbuild.chains import split_chains
from dagbuild.prefixes import Prefixes

Make = Callable[..., Session]
BIG = 100_000  # tokens; no one-off


def ids(*runs: int | tuple[int, int]) -> list[int]:
    """`ids(3, (50, 2))`: 0, 1, 2, 50, 51."""
    spans = [run if isinstance(run, tuple) else (0, run) for run in runs]
    return [first + offset for first, length in spans for offset in range(length)]


def chains(
    make: Make, steps: Sequence[tuple[float, float | None]], lists: Sequence[list[int]], *, heard: bool, **sizes: int
) -> list[list[int]]:
    changed = {"input_tokens": BIG, "output_tokens": 10_000} | sizes
    session = make([(0, start, end) for start, end in steps], lists=lists, weka=not heard, **changed)
    found = split_chains(session.requests, Prefixes(session.requests), heard=heard, tick_us=0)
    return [[step.request for step in chain.requests] for chain in found]


def both(make: Make, steps: Sequence[tuple[float, float | None]], lists: Sequence[list[int]]) -> list[list[int]]:
    heard, told = (chains(make, steps, lists, heard=heard) for heard in (True, False))
    assert heard == told
    return heard


def test_growing_prompts_are_one_conversation(make_session: Make) -> None:
    assert both(make_session, [(0, 1), (2, 3), (4, 5)], [ids(3), ids(5), ids(9)]) == [[0, 1, 2]]


def test_two_interleaved_conversations_are_told_apart(make_session: Make) -> None:
    lists = [ids(3), ids((50, 3)), ids(5), ids((50, 5)), ids(9)]
    assert both(make_session, [(0, 1), (0.5, 2), (3, 4), (5, 6), (7, 8)], lists) == [[0, 2, 4], [1, 3]]


def test_a_compaction_goes_on_with_what_never_comes_back(make_session: Make) -> None:
    assert both(make_session, [(0, 1), (2, 3), (4, 5)], [ids(30), ids(50), ids(9, (90, 3))]) == [[0, 1, 2]]


def test_a_fork_is_beside_what_goes_on_afterwards(make_session: Make) -> None:
    lists = [ids(30), ids(50), ids(9, (90, 3)), ids(60)]
    assert both(make_session, [(0, 1), (2, 3), (4, 5), (6, 7)], lists) == [[0, 1, 3], [2]]


def test_a_seam_follows_the_deepest_of_what_ended(make_session: Make) -> None:
    lists = [ids(30), ids(20, (90, 9)), ids(33), ids(20, (90, 5), (70, 2))]
    steps = [(0.0, 1.0), (0.5, 2), (3, 4), (5, 6)]
    assert both(make_session, steps, lists) == [[0, 2], [1, 3]]


def test_a_cleared_history_is_the_same_conversation(make_session: Make) -> None:
    assert both(make_session, [(0, 1), (2, 3), (4, 5)], [ids(30), ids((90, 3)), ids((90, 5))]) == [[0, 1, 2]]


def test_what_overlaps_and_shares_nothing_is_another_conversation(make_session: Make) -> None:
    assert both(make_session, [(0, 9), (2, 3)], [ids(30), ids((90, 3))]) == [[0], [1]]


def test_a_step_over_an_unfinished_one_goes_on_only_where_one_agent_was_heard(make_session: Make) -> None:
    steps, lists = [(0.0, 5.0), (4, 6), (7, 8)], [ids(30), ids(40), ids(50)]
    assert chains(make_session, steps, lists, heard=True) == [[0, 1, 2]]
    assert chains(make_session, steps, lists, heard=False) == [[0], [1, 2]]


def test_a_lone_small_last_step_resets_nothing_in_a_trace(make_session: Make) -> None:
    steps, lists = [(0.0, 1.0), (2, 3)], [ids(30), ids((90, 3))]
    assert chains(make_session, steps, lists, heard=True, input_tokens=200) == [[0, 1]]
    session = make_session([(0, 0, 1), (0, 2, 3)], lists=lists, weka=True)
    big, small = session.requests
    requests = (replace(big, input_tokens=BIG), replace(small, input_tokens=200))
    found = split_chains(requests, Prefixes(requests), heard=False, tick_us=0)
    assert [len(chain.requests) for chain in found] == [1, 1]


def test_a_title_before_the_conversation_opens_it_but_one_beside_it_does_not(make_session: Make) -> None:
    lists = [ids((90, 2)), ids(30), ids(40)]
    before = chains(make_session, [(0, 0.5), (1, 2), (3, 4)], lists, heard=False, output_tokens=9)
    beside = chains(make_session, [(0, 1.5), (1, 2), (3, 4)], lists, heard=False, output_tokens=9)
    assert (before, beside) == ([[0, 1, 2]], [[1, 2], [0]])


def test_a_retry_stays_with_its_attempt(make_session: Make) -> None:
    session = make_session([(0, 0, 9), (0, 1, 2), (0, 3, 4)], lists=[ids(9), ids((50, 9)), ids(9)], retries={2: 0})
    found = split_chains(session.requests, Prefixes(session.requests), heard=True, tick_us=0)
    assert [[step.request for step in chain.requests] for chain in found] == [[0, 2], [1]]


def test_a_coarse_clock_s_overlap_is_rounding(make_session: Make) -> None:
    session = make_session([(0, 0, 2.5), (0, 2, 3)], lists=[ids(9), ids(12)], weka=True)
    one = split_chains(session.requests, Prefixes(session.requests), heard=False, tick_us=1_000_000)
    two = split_chains(session.requests, Prefixes(session.requests), heard=False, tick_us=0)
    assert (len(one), len(two)) == (1, 2)


def test_no_steps_are_an_empty_conversation() -> None:
    assert [chain.requests for chain in split_chains([], Prefixes([]), heard=True, tick_us=0)] == [[]]


@st.composite
def _plan(draw: st.DrawFn) -> list[tuple[int, float, float]]:
    """(agent, start, end): agent 0 begins first and ends last, no agent overlaps itself."""
    agents = draw(st.integers(1, 4))
    free = [0.0] * agents
    plan = [(0, 0.0, 1.0)]
    free[0] = 1.0
    for _ in range(draw(st.integers(0, 12))):
        agent = draw(st.integers(0, agents - 1))
        start = free[agent] + draw(st.sampled_from([0.25, 1.0, 3.0]))
        free[agent] = start + draw(st.sampled_from([0.25, 2.0, 5.0]))
        plan.append((agent, start, free[agent]))
    plan.append((0, max(free) + 1, max(free) + 2))
    return sorted(plan, key=lambda one: one[1])


@given(plan=_plan(), heard=st.booleans())
def test_without_ids_prompts_still_give_the_same_streams(
    make_session: Make, plan: list[tuple[int, float, float]], *, heard: bool
) -> None:
    """Every agent has a prefix of its own that only grows, and main goes on after the others."""
    grown = dict.fromkeys(range(4), 0)
    lists = []
    for agent, _, _ in plan:
        grown[agent] += 2
        lists.append(ids((1000 * agent, grown[agent])))
    found = chains(make_session, [(start, end) for _, start, end in plan], lists, heard=heard)
    known: dict[int, list[int]] = {}
    for number, (agent, _, _) in enumerate(plan):
        known.setdefault(agent, []).append(number)
    assert sorted(found) == sorted(known.values())
    assert found[0] == known[0]


def test_beside_the_own_conversation_a_finished_one_is_not_mended(make_session: Make) -> None:
    """Two agents of one kind, one after the other: the second opens like the first."""
    lists = [ids(9), ids((50, 9)), ids((50, 12)), ids((50, 5), (90, 3)), ids(12)]
    session = make_session([(0, n, n + 0.5) for n in range(5)], lists=lists, input_tokens=BIG, output_tokens=10_000)

    def split(stop: str) -> list[list[int]]:
        requests = tuple(replace(step, stop=stop) for step in session.requests)
        found = split_chains(requests, Prefixes(requests), heard=True, tick_us=0)
        return [[step.request for step in chain.requests] for chain in found]

    assert split("tool_use") == [[0, 4], [1, 2, 3]]
    assert split("end_turn") == [[0, 4], [1, 2], [3]]
