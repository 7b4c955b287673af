from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dagbuild.agentx.entries import Call
from dagbuild.agentx.frontier import Turn, frontier

TIMES = st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 4)), max_size=6)
STREAMS = st.dictionaries(st.sampled_from("abcd"), TIMES, min_size=1)


def calls(times: list[tuple[int, int | None]]) -> list[Call]:
    return [Call(n, n, float(start), api, 0, 1, 64, 1) for n, (start, api) in enumerate(times)]


def test_the_latest_ended_turn_of_every_other_stream_is_waited_for() -> None:
    found = frontier({"a": calls([(0, 1), (2, 1), (9, 1)]), "b": calls([(3, 5)])})
    assert found["b", 0] == [("a", 1)]  # an end that touches the start is over
    assert found["a", 2] == [("b", 0)]
    assert found["a", 1] == []


def test_what_another_of_the_frontier_waited_for_is_left_out() -> None:
    found = frontier({"a": calls([(0, 1)]), "b": calls([(2, 1)]), "c": calls([(4, 1)])})
    assert found["c", 0] == [("b", 0)]


def test_equal_starts_are_unordered_also_when_one_takes_no_time() -> None:
    assert frontier({"a": calls([(5, 0)]), "b": calls([(5, None)])}) == {("a", 0): [], ("b", 0): []}


@given(STREAMS)
def test_frontier_is_the_maximal_elements_of_what_ended_before(times: dict[str, list[tuple[int, int | None]]]) -> None:
    spans = {
        (name, n): (start, start + (api or 0)) for name, found in times.items() for n, (start, api) in enumerate(found)
    }

    def ended_before(target: Turn) -> list[Turn]:
        start = spans[target][0]
        latest: dict[str, Turn] = {}
        for turn, (began, end) in sorted(spans.items(), key=lambda one: (one[1][1], one[1][0], one[0])):
            if turn[0] != target[0] and began < start and end <= start:
                latest[turn[0]] = turn
        return list(latest.values())

    found = frontier({name: calls(each) for name, each in times.items()})
    assert set(found) == set(spans)
    for turn, waits in found.items():
        known = ended_before(turn)
        maximal = [a for a in known if not any(spans[a][0] < spans[b][0] and spans[a][1] <= spans[b][0] for b in known)]
        assert waits == sorted(maximal)
