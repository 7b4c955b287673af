from __future__ import annotations

from replay.foresight import Foresight, foresee
from replay.plan import PlanRules, plan_session
from tests.replay.rehearsal import Asked, edge, session_of

RULES = PlanRules(300_000_000, 10, None)
# A main agent that forks a child from its context, starts a fresh one, and asks for a title that nobody waits for.
ASKED = [
    Asked(0, 1, (1, 2, 3, 4)),
    Asked(3, 4, (1, 2, 3, 4, 5), agent=1),  # the fork
    Asked(6, 7, (1, 2, 3, 4, 5, 6), agent=1),
    Asked(3, 4, (80, 81), agent=2),  # fresh
    Asked(2, 3, (90,), purpose="title"),
    Asked(20, 21, (1, 2, 3, 4, 7)),
]
EDGES = [
    edge(0, 1, 2, kind="spawn"),
    edge(1, 2, 2),
    edge(0, 3, 2, kind="spawn"),
    edge(0, 4, 1, kind="aux"),
    edge(0, 5, 19),
    edge(2, 5, 13, kind="join"),
    edge(3, 5, 16, kind="join"),
]


def seen() -> dict[int, Foresight]:
    order = sorted(range(len(ASKED)), key=lambda n: ASKED[n].start_s)
    renumbered = {old: new for new, old in enumerate(order)}
    edges = [edge(renumbered[e.src], renumbered[e.dst], e.delay_us / 1e6, kind=e.kind) for e in EDGES]
    session = session_of([ASKED[n] for n in order], edges)
    found = foresee(plan_session(session, RULES), session)
    return {old: found[renumbered[old]] for old in renumbered}


def test_pauses_and_forks_are_those_of_the_replay() -> None:
    found = seen()
    assert found[0].pause_us == 1_900_000
    assert found[0].fork_us == 200_000
    assert found[1].pause_us == 200_000
    assert found[2].pause_us is None
    assert found[1].fork_us is None


def test_children_have_parents_and_end() -> None:
    found = seen()
    assert found[0].parent is None
    assert [found[n].parent for n in (1, 2, 3, 4)] == [found[0].stream] * 4
    assert {n for n in found if found[n].ends_child} == {2, 3, 4}
    assert found[5].stream == found[0].stream


def test_only_what_nobody_waits_for_is_background() -> None:
    assert [n for n, one in seen().items() if one.background] == [4]


def test_reuse_is_the_share_that_was_there_before() -> None:
    found = seen()
    assert (found[0].reuse, found[1].reuse, found[3].reuse) == (0, 0.8, 0)
