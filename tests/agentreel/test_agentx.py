from __future__ import annotations

from dataclasses import replace

import pytest

from agentreel.agentx import agentx_graph
from corpus.errors import InputError
from dagbuild.agentx.graph import agentx_documents, build_graph
from replay.plan import PlanRules, Wait, plan_session
from tests.dagbuild.agentx.traces import EDGE_CASES, call, group, ids, random_trace, session, trace
from tests.replay.rehearsal import Asked, session_of

OVERLAPPED = trace(
    "overlapped",
    call(0, 1.0, ids(10)),
    call(2, 10.0, ids(20)),
    group("a", 4, 8, [call(4, 1.0, ids((500, 5))), call(7, 1.0, ids((500, 9)))]),
    call(20, 1.0, ids(30)),
)
AFTERWARDS = trace(
    "afterwards",
    call(0, 1.0, ids(10)),
    group("a", 4, 8, [call(5, 1.0, ids((500, 5)))]),
    group("b", 4, 9, [call(6, 1.0, ids((600, 5)))]),
    call(20, 1.0, ids(20)),
)


def by_turn(found: dict) -> dict[tuple[str, int], list[tuple[tuple[str, int], float, str]]]:  # type: ignore[type-arg]
    """Waits with requests by stream and turn, delays in seconds."""
    made = session(found)
    names = {
        one.request: (stream.name, turn)
        for stream in build_graph(made).streams
        for turn, one in enumerate(stream.calls)
    }
    waits = agentx_graph(made).waits
    return {names[n]: [(names[w.src], w.delay_us / 1e6, w.anchor) for w in waits[n]] for n in waits}


def test_branch_waits_for_the_end_of_its_spawn_and_keeps_the_distance_of_its_members() -> None:
    waits = by_turn(AFTERWARDS)
    main = "afterwards"
    assert waits[f"{main}::sa:a", 0] == [((main, 0), 1.0, "end")]  # the group began at 4 s, 3 s after the spawn: lost
    assert waits[f"{main}::sa:b", 0] == [((main, 0), 2.0, "end")]
    joined = {(f"{main}::sa:a", 0), (f"{main}::sa:b", 0)}
    assert waits[main, 1][0] == ((main, 0), 19.0, "end")
    assert {src for src, delay, anchor in waits[main, 1][1:] if (delay, anchor) == (0, "end")} == joined


def test_branch_that_began_during_its_spawn_counts_from_the_start_of_it() -> None:
    waits = by_turn(OVERLAPPED)
    assert waits["overlapped::sa:a", 0] == [(("overlapped", 1), 2.0, "start")]
    assert waits["overlapped::sa:a", 1][0] == (("overlapped::sa:a", 0), 2.0, "end")
    assert (("overlapped::sa:a", 1), 0.0, "end") in waits["overlapped", 2]


@pytest.mark.parametrize("found", [*EDGE_CASES.values(), *(random_trace(f"r{n}", n) for n in range(60))])
def test_delays_joins_and_barriers_are_those_of_the_documents(found: dict) -> None:  # type: ignore[type-arg]
    try:
        documents = {document["stream"]: document for document in agentx_documents(session(found))}
    except InputError:
        pytest.skip("refused")
    waits = by_turn(found)
    children = {branch["id"]: branch["children"] for one in documents.values() for branch in one["branches"]}
    for name, document in documents.items():
        for number, turn in enumerate(document["turns"]):
            mine = waits[name, number]
            after = {tuple(other) for other in turn["after"]}
            ends = {
                (child, len(documents[child]["turns"]) - 1)
                for branch in turn["joins"]
                for child in children[branch]
                if documents[child]["turns"]
            }
            own = mine[: 1 if number or not document["root"] else 0]
            assert {src for src, _, _ in mine[len(own) :]} == after | ends
            if number:
                src, delay_s, anchor = own[0]
                assert (src, anchor) == ((name, number - 1), "end")
                assert delay_s * 1000 == pytest.approx(turn["delay_ms"], abs=0.0011)


def test_dropped_requests_are_left_out_before_the_graph_is_drawn() -> None:
    made = session(AFTERWARDS)
    big = max(range(len(made.requests)), key=lambda n: made.requests[n].input_tokens)
    limit = made.requests[big].input_tokens + 99
    plan = plan_session(made, PlanRules(None, 1, limit), agentx_graph)
    assert plan.dropped == (("over_context", 1),)
    assert big not in {request.request for request in plan.requests}
    whole = plan_session(made, PlanRules(None, 2, None), agentx_graph)
    assert whole.requests[1].waits == (
        Wait(0, 9_500_000, "end"),
        *(Wait(request.request, 0, "end") for request in whole.requests[2:]),
    )


def test_sub_agent_that_nobody_spawned_is_counted_as_dropped() -> None:
    made = session(trace("early", group("a", 0, 3), call(5, 1.0, ids(10)), call(8, 1.0, ids(20))))
    assert plan_session(made, PlanRules(None, 1, None), agentx_graph).dropped == (("in_no_stream", 1),)


def test_declared_system_prefix_stays_shared_between_plays() -> None:
    made = session(AFTERWARDS | {"system_tokens": 100, "tool_tokens": 29})
    plan = plan_session(made, PlanRules(None, 1, None), agentx_graph)
    agents = {request.request: request.marker_block for request in plan.requests}
    main = [agents[request.request] for request in made.requests if request.agent == 0]
    assert (main, set(agents.values())) == ([3, 3], {0, 3})


def test_circle_that_would_stall_the_harness_is_refused() -> None:
    refused = 0
    for number in range(40):
        try:
            plan_session(session(random_trace(f"r{number}", number)), PlanRules(None, 1, None), agentx_graph)
        except InputError as error:
            refused += "cycle" in str(error)
    assert 0 < refused < 20


def test_session_that_weka_cannot_hold_is_refused() -> None:
    plain = session_of([Asked(0, 1, (1,)), Asked(2, 3, (1, 2))])
    assert len(agentx_graph(plain).streams) == 1
    negative = replace(plain.requests[1], input_tokens=-5)
    with pytest.raises(InputError):
        agentx_graph(replace(plain, requests=(plain.requests[0], negative)))
