"""Golden graphs of every recorded scenario. What is true in each follows from its script, which says who calls whom.

Requests are numbered by start within their session, failed attempts among them; a corpus without them is looked at
where it differs. `|` stands for evidence by which the edge was found.
"""

from __future__ import annotations

import pytest

from corpus.graph import topological_order
from corpus.session import Attempt, Session
from dagbuild.causes import gap_causes, retried_us
from dagbuild.link import link_session
from dagbuild.streams import split_streams
from dagbuild.timing import count_doubts
from tests.dagbuild import recorded

pytestmark = recorded.needs_captures

# Main alone: its requests, each after the one before, and what filled the gaps between them.
T, H, X, R = "tool", "human", "harness", "retry"
LINEAR: dict[str, list[list[str]]] = {  # scenario -> causes per session
    "claude-code/base_hello": [[]],
    "claude-code/base_pdf": [[T, T]],  # reads a file, then goes on
    "claude-code/base_tool_loop": [[T, T, T, T]],
    "claude-code/bedrock": [],  # no request was answered
    "claude-code/fault_400": [[R, R, H, R, R]],  # the client asks anew with other tools, which looks like a person
    "claude-code/fault_404_nonstreaming_fallback": [[R]],
    "claude-code/fault_429_529_500": [[R, R, R, T]],
    "claude-code/fault_502_html": [[R]],
    "claude-code/fault_max_tokens": [[X]],  # asked to go on by the client
    "claude-code/fault_no_response": [[R]],
    "claude-code/fault_ping_only": [[]],
    "claude-code/fault_refusal": [[X]],
    "claude-code/fault_sse_error_event": [[R]],
    "claude-code/fault_stall_midstream": [[R]],
    "claude-code/fault_stream_dropped": [[R]],
    "claude-code/fault_stream_dropped_early": [[R, R]],
    "claude-code/proxy_429_529_500": [[R, R, R, T]],
    "claude-code/proxy_nonessential_off": [[]],
    "claude-code/vertex": [],
    "codex/chatgpt_http": [[T, T, T]],
    "codex/chatgpt_ws": [[T, T, T]],
    "codex/custom_compact": [[T, T, X, T]],
    "codex/custom_headers": [[]],
    "codex/custom_loop": [[T, T, T]],
    "codex/custom_unknown": [[T, T, T]],
    "codex/custom_ws_loop": [[T, T, T]],
    "codex/http_agents55": [[T, T, T, T, T, T]],  # this model has no agents: the calls fail
    "codex/http_compact": [[T, T, X, T]],
    "codex/http_cut": [[R, T, R, R]],
    "codex/http_gpt55": [[T, T, T]],
    "codex/http_image": [[T]],
    "codex/http_interrupt": [[H]],  # interrupted, resumed by the user
    "codex/http_loop": [[T, T, T]],
    "codex/http_overflow": [[]],
    "codex/http_parallel": [[T, T], [T, T]],  # two sessions at once
    "codex/http_resume": [[T, H], [T, T, T]],  # resumed, then forked by the user into a session of its own
    "codex/http_retry429": [[R, T]],
    "codex/http_retry500": [[R, R, T]],
    "codex/http_rlfail": [[R]],
    "codex/http_schema": [[]],
    "codex/memories": [[], [T], [T], [T]],
    "codex/ws_alwayscut": [[R]],
    "codex/ws_loop": [[T, T, T]],
    "codex/ws_resume": [[T, H], [T]],
    "codex/ws_retry429": [[R, T]],
    "codex/ws_retry500": [[R, R, T]],
    "codex/ws_review": [[T]],  # a review without any request of the main agent
}

# One blocking, background or nested child after another; per session what is more than a sequence.
CLAUDE_NESTED = ["0>2 spawn|tool_result", "2>3 spawn|tool_result", "2>4 spawn|tool_result"]
WORKFLOW = [  # two agents side by side, then one that got both results, then one more, then the notification
    "0>2 spawn|notification",
    "0>3 spawn|notification",
    "4>6 spawn|timing",
    "5>6 spawn|timing",
    "7>8 spawn|timing",
    "9>10 join|notification",
]
CODEX_AGENTS = [
    "0>1 spawn|tool_result",
    "0>3 spawn|tool_result",
    "4>5 join|agent_message",
    "6>8 spawn|tool_result",
    "9>10 join|agent_message",
    "10>11 join|agent_message",
    "11>13 spawn|id",
    "13>14 join|agent_message",
]
AGENTS: dict[str, list[list[str]]] = {
    # A title for every prompt of a person: the first is a root, the second hangs on what was heard last.
    "claude-code/base_interactive_auto_mode": [["5>6 aux|timing"]],
    # /compact twice, resumed; the forked session starts an agent whose result the fixture lost.
    "claude-code/base_resume_fork_session_compact": [[], ["2>3 spawn|timing", "4>5 join|timing"]],
    "claude-code/base_subagent_background": [["0>2 spawn|tool_result", "3>4 join|notification"]],
    "claude-code/base_subagent_blocking": [["0>1 spawn|tool_result", "2>3 join|tool_result"]],
    "claude-code/base_subagent_forked": [["1>2 spawn|tool_result", "3>4 join|tool_result"]],
    "claude-code/base_subagent_nested": [
        ["0>1 spawn|tool_result", "1>2 spawn|tool_result", "3>4 join|tool_result", "4>5 join|tool_result"]
    ],
    # The child is sent a message later: a second task, reported by notification.
    "claude-code/base_subagent_resumed_by_message": [
        ["0>1 spawn|tool_result", "2>3 join|tool_result", "4>5 spawn|id", "5>7 join|notification"]
    ],
    "claude-code/base_workflow": [WORKFLOW],
    "claude-code/proxy_workflow": [WORKFLOW],
    "claude-code/hint_agent_sdk_python": [["1>2 spawn|tool_result", "3>4 join|tool_result"]],
    # Two stages of the classifier before the shell call may run.
    "claude-code/hint_auto_mode_classifier": [["0>1 aux|tool_result", "2>3 join|tool_result"]],
    # A custom agent and a skill that runs as an agent, each with an agent hook before its shell call; a prompt hook at
    # the end of the turn.
    "claude-code/hint_custom_agent_skill_hooks": [
        [
            "0>1 spawn|tool_result",
            "1>2 aux|tool_result",
            "3>4 join|tool_result",
            "4>5 join|tool_result",
            "5>6 spawn|tool_result",
            "6>7 aux|tool_result",
            "8>9 join|tool_result",
            "9>10 join|tool_result",
            "10>11 aux|timing",
        ]
    ],
    # Interrupted by a person, then steered while a tool ran: the title is a root.
    "claude-code/hint_interactive_interrupt_steer": [[]],
    # A background agent with two blocking children side by side.
    "claude-code/hint_subagent_nested": [
        [*CLAUDE_NESTED, "5>7 join|tool_result", "6>7 join|tool_result", "7>8 join|notification"]
    ],
    "claude-code/proxy_subagent_nested": [
        [*CLAUDE_NESTED, "5>7 join|tool_result", "6>7 join|tool_result", "7>8 join|notification"]
    ],
    # Every verdict unparsable: ten attempts in a row for each of two shell calls.
    "claude-code/proxy_auto_mode_classifier_unparsable": [
        ["0>1 aux|tool_result", "10>11 join|tool_result", "11>12 aux|tool_result", "21>22 join|tool_result"]
    ],
    "claude-code/proxy_websearch_webfetch": [
        ["1>2 aux|tool_result", "2>3 join|tool_result", "3>4 aux|tool_result", "4>5 join|tool_result"]
    ],
    # A review that the user asks for: nobody calls it, the next turn knows what it found. Then a user's fork.
    "codex/app_http": [["3>4 spawn|timing", "5>6 join|timing"], []],
    "codex/app_ws": [["3>4 spawn|timing", "5>6 join|timing"], []],
    # Two children, one of which has a child; the first is given a second task. Final messages arrive one by one.
    "codex/custom_agents": [
        [
            "0>1 spawn|tool_result",
            "0>3 spawn|tool_result",
            "4>5 join|agent_message",
            "6>8 spawn|tool_result",
            "9>10 join|agent_message",
            "10>11 join|agent_message",
            "11>12 spawn|id",
            "12>14 join|agent_message",
        ]
    ],
    "codex/custom_agents_unknown": [
        [
            "0>1 spawn|tool_result",
            "0>3 spawn|tool_result",
            "4>5 join|agent_message",
            "8>9 join|agent_message",
            "9>11 spawn|id",
            "11>12 join|agent_message",
        ]
    ],
    "codex/http_agents": [CODEX_AGENTS],
    "codex/ws_agents": [CODEX_AGENTS],
    "codex/guardian_http": [["0>1 aux|tool_result", "1>2 join|tool_result"]],
    "codex/ws_fork": [["0>2 spawn|tool_result", "3>4 join|agent_message"]],
}

# Streams that no prompt tells apart: a fork begins with all of main's prompt, and two children's first prompts are
# equal but for less than a block.
INDISTINCT = {
    "claude-code/base_resume_fork_session_compact",
    "claude-code/base_subagent_forked",
    "codex/custom_agents_unknown",
    "codex/http_agents",
    "codex/ws_agents",
    "codex/ws_fork",
}


# What a corpus without failed attempts tells of them: per request how many, `+` where the client gave up on the body.
FOLDED: dict[str, list[str]] = {
    "claude-code/fault_404_nonstreaming_fallback": ["1"],
    "claude-code/fault_429_529_500": ["3", ""],
    "claude-code/fault_502_html": ["1"],
    "claude-code/fault_no_response": ["+1"],  # asked again while the first one still hung
    "claude-code/fault_sse_error_event": ["1"],
    "claude-code/fault_stall_midstream": ["1"],
    "claude-code/fault_stream_dropped": ["1"],
    "claude-code/fault_stream_dropped_early": ["2"],
    "claude-code/proxy_429_529_500": ["3", ""],
    # Interrupted by the user before a word was said; the next message is another one.
    "codex/app_http": ["", "", "", "", "", "", "", "+1", "", ""],
    "codex/app_ws": ["", "", "", "", "", "", "+1", "", ""],
    "codex/http_cut": ["1", "1+1"],
    "codex/http_retry429": ["1", ""],
    "codex/http_retry500": ["2", ""],
    "codex/http_rlfail": ["1"],
    "codex/ws_retry429": ["1", ""],
    "codex/ws_retry500": ["2", ""],
}


def linked(name: str, *, keep_aux: bool = True) -> list[Session]:
    client, scenario = name.split("/")
    return [link_session(session) for session in recorded.sessions(client, scenario, keep_aux=keep_aux)]


def test_every_scenario_is_here() -> None:
    known = {f"{client}/{name}" for client in ("claude-code", "codex") for name in recorded.scenarios(client)}
    assert known == LINEAR.keys() | AGENTS.keys()
    assert not LINEAR.keys() & AGENTS.keys()


@pytest.mark.parametrize("name", sorted(LINEAR))
def test_a_lone_agent_s_requests_are_a_chain_that_knows_its_gaps(name: str) -> None:
    sessions = linked(name)
    assert [gap_causes(session) for session in sessions] == LINEAR[name]
    for session in sessions:
        expected = [
            (n, n + 1, "sequence" if again.retry_of is None else "retry")
            for n, again in enumerate(session.requests[1:])
        ]
        assert [(edge.src, edge.dst, edge.kind) for edge in session.edges] == expected


def told(attempts: tuple[Attempt, ...]) -> str:
    again = sum(attempt.repeated for attempt in attempts)
    given_up = len(attempts) - again
    return (str(again) if again else "") + (f"+{given_up}" if given_up else "")


@pytest.mark.parametrize("name", sorted(LINEAR | AGENTS))
def test_without_failed_attempts_the_requests_that_came_of_them_tell_of_them(name: str) -> None:
    sessions = linked(name, keep_aux=False)
    found = [told(request.attempts) for session in sessions for request in session.requests]
    assert found == FOLDED.get(name, [""] * len(found))


def test_most_of_a_gap_that_went_into_attempts_makes_it_a_retry_s() -> None:
    (session,) = linked("codex/http_cut", keep_aux=False)
    (edge,) = session.edges
    assert gap_causes(session) == [R]
    assert edge.delay_us // 2 < retried_us(edge, session.requests[1]) < edge.delay_us


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_spawns_joins_and_asides_are_those_of_the_script(name: str) -> None:
    found = [
        [f"{e.src}>{e.dst} {e.kind}|{e.evidence}" for e in session.edges if e.kind != "sequence"]
        for session in linked(name)
    ]
    assert [sorted(edges) for edges in found] == [sorted(edges) for edges in AGENTS[name]]


@pytest.mark.parametrize("name", sorted(AGENTS | LINEAR))
def test_under_one_id_there_is_one_conversation_and_no_cycle(name: str) -> None:
    for session in linked(name):
        assert split_streams(session).beside == []
        assert len(topological_order(len(session.requests), session.edges)) == len(session.requests)


@pytest.mark.parametrize("name", sorted((AGENTS | LINEAR).keys() - INDISTINCT))
def test_without_ids_the_streams_are_the_same(name: str) -> None:
    client, scenario = name.split("/")
    nameless = recorded.sessions(client, scenario, ids=False)
    assert [_streams(session) for session in nameless] == [_streams(session) for session in linked(name)]


def _streams(session: Session) -> list[list[int]]:
    """Request numbers may differ where two start at once, times do not."""
    split = split_streams(session)
    streams = [*split.by_agent.values(), *(stream.requests for stream in split.beside)]
    return sorted([step.t_start_us for step in steps] for steps in streams if steps)


def test_time_stamps_alone_would_be_wrong_this_often() -> None:
    """The numbers of docs/graph.md."""
    total: dict[str, dict[str, int]] = {}
    for name in sorted(AGENTS):
        counts = total.setdefault(name.split("/")[0], {})
        for session in linked(name):
            for key, value in count_doubts(session).items():
                counts[key] = counts.get(key, 0) + value
    assert total == {
        "claude-code": {"spawns": 20, "spawns_wrong": 8, "joins": 25, "joins_wrong": 2},
        "codex": {"spawns": 16, "spawns_wrong": 12, "joins": 17, "joins_wrong": 4},
    }
