from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from anonymize.links import LinkFinder, Speaker
from corpus.exchange import Exchange, Identity
from corpus.session import Delivery, Session, ToolCall
from tests.anonymize.exchanges import (
    assistant,
    by_session,
    claude_answer,
    claude_body,
    claude_capture,
    codex_answer,
    codex_capture,
    exchange,
    session_of,
    tool_result,
    tool_use,
    user,
)
from wire.shapes import Part

MAIN = Identity(session_id="s", purpose="turn", harness="claude-code")
CHILD_ID = "a0123456789abcdef"
CHILD = Identity(session_id="s", agent_id=CHILD_ID, agent_kind="subagent", purpose="turn", harness="claude-code")
DONE = claude_answer({"type": "text", "text": "done"})
TASK = "do the thing"


def call(identity: Identity, at_s: float, messages: Sequence[Any], *made: Any) -> Exchange:
    return exchange(at_s, claude_body(messages), claude_answer(*made) if made else DONE, identity=identity)


def agent_calls(session: Session) -> list[ToolCall]:
    return [one for one in session.tool_calls if one.tool == "agent"]


def test_a_result_belongs_to_its_call_whatever_the_order() -> None:
    one, two = tool_use("t1", "Bash", command="ls"), tool_use("t2", "Read", path="f")
    start = [user("hi")]
    results = user(tool_result("t2", "gone", is_error=True), tool_result("t1", "f", is_error=False))
    session = session_of([call(MAIN, 1, start, one, two), call(MAIN, 3, [*start, assistant(one, two), results])])
    assert session.tool_calls == (
        ToolCall(0, 0, 1, "shell", False, None, ()),
        ToolCall(1, 0, 1, "read", True, None, ()),
    )


def test_a_call_without_a_result_stays_open() -> None:
    session = session_of([call(MAIN, 1, [user("hi")], tool_use("t1", "Bash", command="ls"))])
    assert session.tool_calls == (ToolCall(0, 0, None, "shell", None, None, ()),)


def launched(result: str) -> list[Exchange]:
    spawn, start = tool_use("t1", "Agent", prompt=TASK), [user("hi")]
    return [
        call(MAIN, 1, start, spawn),
        call(CHILD, 2, [user(TASK)]),
        call(MAIN, 5, [*start, assistant(spawn), user(tool_result("t1", result))]),
    ]


def test_an_agent_id_in_the_result_names_the_spawned_agent() -> None:
    session = session_of(launched(f"the report\nagentId: {CHILD_ID} (use it to continue)\n<usage>tokens: 5</usage>"))
    assert agent_calls(session) == [ToolCall(0, 0, 2, "agent", None, 1, ())]


def test_an_agent_id_quoted_in_the_report_does_not_win_over_the_last_one() -> None:
    session = session_of(launched(f"I saw agentId: aaaaaaaaaaaaaaaaa there.\nagentId: {CHILD_ID}"))
    assert agent_calls(session)[0].spawned == 1


def test_an_agent_that_was_never_heard_is_unknown() -> None:
    assert agent_calls(session_of(launched("agentId: affffffffffffffff")))[0].spawned is None


def test_an_agent_id_in_the_result_of_another_tool_means_nothing() -> None:
    read, start = tool_use("t1", "Read", path="log"), [user("hi")]
    session = session_of(
        [
            call(MAIN, 1, start, read),
            call(CHILD, 2, [user(TASK)]),
            call(MAIN, 5, [*start, assistant(read), user(tool_result("t1", f"agentId: {CHILD_ID}"))]),
        ]
    )
    assert session.tool_calls[0].spawned is None


def notification(task: str, call_id: str) -> str:
    return (
        f"<system-reminder>\n<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call_id}</tool-use-id>\n"
        "<status>completed</status>\n<result>ok</result>\n</task-notification>\n</system-reminder>"
    )


def background() -> tuple[list[Exchange], list[Any]]:
    *before, launch = launched(f"started. agentId: {CHILD_ID}")
    history = json.loads(launch.request.body)["messages"]
    return [*before, launch], [*history, assistant("waiting")]


def test_a_task_notification_is_a_delivery_of_the_call_it_names() -> None:
    exchanges, history = background()
    told = [*history, user(notification(CHILD_ID, "t1"))]
    session = session_of([*exchanges, call(MAIN, 7, told), call(MAIN, 9, [*told, assistant("done"), user("and?")])])
    assert agent_calls(session) == [ToolCall(0, 0, 2, "agent", None, 1, (Delivery(3, "notification"),))]


def test_a_notification_that_the_client_could_not_tie_to_a_call_goes_by_its_agent() -> None:
    exchanges, history = background()
    session = session_of([*exchanges, call(MAIN, 7, [*history, user(notification(CHILD_ID, "unknown"))])])
    assert agent_calls(session)[0].deliveries == (Delivery(3, "notification"),)


def test_a_notification_inside_a_tool_result_is_text_like_any_other() -> None:
    exchanges, history = background()
    read = tool_use("t2", "Read", path="log")
    told = [*history[:-1], assistant(read), user(tool_result("t2", notification(CHILD_ID, "t1")))]
    assert agent_calls(session_of([*exchanges, call(MAIN, 7, told)]))[0].deliveries == ()


def test_a_message_to_a_known_agent_gives_it_new_work() -> None:
    exchanges, history = background()
    send = tool_use("t2", "SendMessage", to=CHILD_ID, message="again")
    sent = [*history, user("go on"), assistant(send), user(tool_result("t2", "sent"))]
    session = session_of(
        [
            *exchanges,
            call(MAIN, 7, [*history, user("go on")], send),
            call(CHILD, 8, [user(TASK), assistant("done"), user("again")]),
            call(MAIN, 9, sent),
            call(MAIN, 11, [*sent, assistant("ok"), user(notification(CHILD_ID, "t2"))]),
        ]
    )
    assert [one.spawned for one in agent_calls(session)] == [1, 1]
    assert agent_calls(session)[1].deliveries == (Delivery(6, "notification"),)


def test_a_side_question_that_sees_the_history_receives_nothing() -> None:
    exchanges, history = background()
    told = [*history, user(notification(CHILD_ID, "t1"))]
    aside = Identity(session_id="s", purpose="side_question", harness="claude-code")
    session = session_of([*exchanges, call(aside, 7, [*told, user("btw")]), call(MAIN, 8, told)], keep_aux=True)
    assert agent_calls(session)[0].deliveries == (Delivery(4, "notification"),)


def test_what_an_agent_was_told_before_is_not_read_again() -> None:
    finder = LinkFinder([Speaker(None, None), Speaker(CHILD_ID, None)])
    finder.hear(0, None, "turn", [], [Part("tool_call", "{}", 1, "assistant", call_id="t1", name="Agent")])
    result = Part("tool_result", f"agentId: {CHILD_ID}", 2, "user", call_id="t1")
    note = Part("reminder", notification(CHILD_ID, "t1"), 3, "user")
    for request in range(1, 10):
        finder.hear(request, None, "turn", [(0, result), (1, note)], [])
    assert finder.texts_read == 2
    (found,) = finder.calls({CHILD_ID: 1})
    assert (found.spawned, found.result, found.deliveries) == (1, 1, (Delivery(1, "notification"),))


def test_a_hook_under_an_agents_id_keeps_its_own_calls() -> None:
    hook = Identity(session_id="s", agent_id=CHILD_ID, agent_kind="hook", purpose="hook", harness="claude-code")
    same_id, start = tool_use("t1", "Bash", command="ls"), [user("hi")]
    session = session_of(
        [
            call(CHILD, 1, start, same_id),
            call(hook, 2, [user("check")], tool_use("t2", "Read", path="f")),
            call(hook, 3, [user("check"), assistant(same_id), user(tool_result("t1", "?"), tool_result("t2", "f"))]),
            call(CHILD, 5, [*start, assistant(same_id), user(tool_result("t1", "f"))]),
        ]
    )
    assert [(one.emit, one.result) for one in session.tool_calls] == [(0, 3), (1, 2)]


CODEX = Identity(session_id="r", agent_name="/root", purpose="turn", harness="codex")
ALPHA_ID = "01a227c9-1364-70b1-9e3d-bb62130dc55e"


def alpha(name: str) -> Identity:
    return Identity(
        session_id="r", agent_id=ALPHA_ID, agent_name=name, agent_kind="subagent", purpose="turn", harness="codex"
    )


def said(text: str) -> Any:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def function(call_id: str, name: str, **given: Any) -> Any:
    return {"type": "function_call", "name": name, "arguments": json.dumps(given), "call_id": call_id}


def output(call_id: str, text: str) -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def report(author: str, text: str = "A is done.") -> Any:
    content = [{"type": "input_text", "text": f"Message Type: FINAL_ANSWER\nSender: {author}\nPayload:\n{text}"}]
    return {"type": "agent_message", "author": author, "recipient": "/root", "content": content}


def codex(identity: Identity, at_s: float, items: Sequence[Any], *made: Any) -> Exchange:
    body = {"model": "gpt-6.2-sol", "stream": True, "input": list(items)}
    answer = codex_answer(*made or [{"type": "message", "role": "assistant", "content": []}])
    return exchange(at_s, body, answer, path="/v1/responses", identity=identity)


def test_codex_v2_names_the_child_by_its_path_and_reports_by_message() -> None:
    spawn, wait = function("c1", "spawn_agent", task_name="alpha"), function("c2", "wait_agent")
    first = [said("hi"), spawn, output("c1", '{"task_name":"/root/alpha"}')]
    joined = [*first, wait, output("c2", '{"message":"Wait completed.","timed_out":false}'), report("/root/alpha")]
    again = function("c3", "followup_task", target="alpha", message="more")
    more = [*joined, again, output("c3", ""), report("/root/alpha")]  # the very same words a second time
    session = session_of(
        [
            codex(CODEX, 1, first[:1], spawn),
            codex(alpha("/root/alpha"), 2, [report("/root", "task")]),
            codex(CODEX, 3, first, wait),
            codex(CODEX, 5, joined, again),
            codex(alpha("/root/alpha"), 6, [report("/root", "task"), report("/root", "more")]),
            codex(CODEX, 8, more),
        ]
    )
    spawned, waited, retasked = agent_calls(session)
    assert (spawned.spawned, spawned.result, spawned.deliveries) == (1, 2, (Delivery(3, "agent_message"),))
    assert (waited.spawned, waited.result, waited.deliveries) == (None, 3, ())
    assert (retasked.spawned, retasked.result, retasked.deliveries) == (1, 5, (Delivery(5, "agent_message"),))


def test_codex_v1_names_the_child_by_its_id_and_reports_in_the_wait_result() -> None:
    spawn, wait = function("c1", "spawn_agent", message="m"), function("c2", "wait_agent", targets=[ALPHA_ID])
    first = [said("hi"), spawn, output("c1", json.dumps({"agent_id": ALPHA_ID}))]
    waiting = [*first, wait, output("c2", json.dumps({"status": {ALPHA_ID: "running"}}))]
    joined = [
        *waiting,
        function("c3", "wait_agent"),
        output("c3", json.dumps({"status": {ALPHA_ID: {"completed": "x"}}})),
    ]
    told = [
        *joined,
        said(f'<subagent_notification>\n{{"agent_id":"{ALPHA_ID}","status":"x"}}\n</subagent_notification>'),
    ]
    session = session_of(
        [
            codex(CODEX, 1, first[:1], spawn),
            codex(alpha("/root"), 2, [said("m")]),
            codex(CODEX, 3, first, wait),
            codex(CODEX, 4, waiting, function("c3", "wait_agent")),
            codex(CODEX, 6, joined),
            codex(CODEX, 8, told),
        ]
    )
    assert agent_calls(session)[0].spawned == 1
    assert agent_calls(session)[0].deliveries == (Delivery(4, "tool_result"), Delivery(5, "notification"))


# Recorded scenarios: (class of call, emitting agent, spawned agent, agents of the requests with result and reports)
Link = tuple[int, int | None, int | None, tuple[str, ...]]
RECORDED: dict[str, list[Link]] = {
    "base_subagent_blocking": [(0, 1, 0, ())],
    "base_subagent_background": [(0, 1, 0, ("notification",))],
    "base_subagent_nested": [(0, 1, 0, ()), (1, 2, 1, ())],
    "base_subagent_forked": [(0, 1, 0, ())],
    "base_subagent_resumed_by_message": [(0, 1, 0, ()), (0, 1, 0, ("notification",))],
    "base_workflow": [(0, None, 0, ("notification",))],
    "http_agents": [
        (0, 1, 0, ("agent_message",)),
        (0, 2, 0, ("agent_message",)),
        (2, 3, 2, ("agent_message",)),
        (0, 1, 0, ("agent_message",)),
    ],
    "custom_agents": [
        (0, 1, 0, ("agent_message",)),
        (0, 2, 0, ("agent_message",)),
        (2, 3, 2, ("agent_message",)),
        (0, 1, 0, ("agent_message",)),
    ],
    "custom_agents_unknown": [
        (0, 1, 0, ("agent_message",)),
        (0, 2, 0, ("agent_message",)),
        (0, 1, 0, ("agent_message",)),
    ],
}


@pytest.mark.parametrize("scenario", RECORDED)
def test_recorded_agents_are_linked_to_the_calls_that_started_them(scenario: str) -> None:
    load = claude_capture if scenario.startswith("base_") else codex_capture
    (exchanges,) = by_session(load(scenario))
    session = session_of(exchanges)
    links = [link_of(one, session) for one in agent_calls(session) if one.spawned is not None or one.deliveries]
    assert links == RECORDED[scenario]
    for one in agent_calls(session):
        assert one.result is None or one.result > one.emit
        assert all(delivery.request > one.emit for delivery in one.deliveries)


def link_of(one: ToolCall, session: Session) -> Link:
    emitter = session.requests[one.emit].agent
    receivers = {session.requests[delivery.request].agent for delivery in one.deliveries}
    assert receivers <= {emitter}
    result = None if one.result is None else session.requests[one.result].agent
    return emitter, one.spawned, result, tuple(delivery.evidence for delivery in one.deliveries)


def test_two_hooks_at_once_are_kept_apart_by_their_conversations() -> None:
    finder = LinkFinder([Speaker(None, None)])
    shell = Part("tool_call", "{}", 1, "assistant", call_id="t1", name="Bash")
    result = Part("tool_result", "done", 2, "user", call_id="t1")
    for request, conversation in enumerate(("a", "b")):
        finder.hear(request, None, "hook", [], [shell], conversation)
    for request, conversation in enumerate(("b", "a"), start=2):
        finder.hear(request, None, "hook", [(0, result)], [], conversation)
    assert [(found.emit, found.result) for found in finder.calls({})] == [(0, 3), (1, 2)]
