from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.exchange import Identity, RequestRecord
from proxy.annotator import Annotator
from proxy.heard import gather
from proxy.identity import identify_heard
from proxy.redaction import stored_headers
from tests.proxy.captured import (
    identity_of,
)
from wire.api import api_of
from wire.facts import RequestFacts


def asked(
    *headers: tuple[str, str], body: object = None, path: str = "/v1/messages", method: str = "POST"
) -> RequestRecord:
    data = b"" if body is None else orjson.dumps(body)
    stored = stored_headers([(name.encode(), value.encode()) for name, value in headers])
    return RequestRecord("e", 0, 0, method, path, api_of(method, path), "", stored, Identity(), None, len(data), data)


CLAUDE = (("User-Agent", "claude-cli/2.1.328 (external, cli)"), ("X-Claude-Code-Session-Id", "s1"))
TURN: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "tools": [{"name": "Bash"}],
    "messages": [{"role": "user", "content": "hi"}],
}


def test_claude_main_turn_has_no_agent() -> None:
    identity = identity_of(asked(*CLAUDE, body=TURN))
    assert identity == Identity(
        session_id="s1",
        purpose="turn",
        harness="claude-code",
        harness_version="2.1.328",
        model="m",
        stream=True,
    )


def test_subagent_without_parent_header_is_child_of_main() -> None:
    identity = identity_of(asked(*CLAUDE, ("x-claude-code-agent-id", "a1"), body=TURN))
    assert (identity.agent_id, identity.parent_agent_id, identity.agent_kind) == ("a1", None, "subagent")


def test_subagent_of_a_subagent_names_its_parent() -> None:
    headers = (*CLAUDE, ("x-claude-code-agent-id", "a2"), ("x-claude-code-parent-agent-id", "a1"))
    identity = identity_of(asked(*headers, body=TURN))
    assert (identity.agent_id, identity.parent_agent_id) == ("a2", "a1")


@pytest.mark.parametrize(
    ("user_id", "session"),
    [
        ('{"device_id":"d","account_uuid":"","session_id":"s9"}', "s9"),
        (
            "user_ab_account_11111111-2222_session_01234567-89ab-cdef-0123-456789abcdef",
            "01234567-89ab-cdef-0123-456789abcdef",
        ),
        ("nobody", None),
    ],
)
def test_session_is_read_from_the_body_when_no_header_has_it(user_id: str, session: str | None) -> None:
    assert identity_of(asked(body=TURN | {"metadata": {"user_id": user_id}})).session_id == session


@pytest.mark.parametrize(
    ("headers", "changes", "purpose"),
    [
        ((("x-claude-code-request-class", "compaction"),), {}, "compaction"),
        ((("x-claude-code-compaction", "auto"),), {}, "compaction"),
        ((("x-claude-code-request-class", "auxiliary"),), {}, "side_question"),
        ((("x-claude-code-auxiliary-type", "memory_extraction"),), {}, "memory"),
        ((("anthropic-beta", "a,fallback-credit-2026"),), {}, "turn"),
        ((), {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search"),
        ((), {"tools": [], "system": "You are."}, "web_fetch"),
        ((), {"tools": [], "system": "x" * 3000}, "turn"),
        ((), {"tools": [], "stream": False, "thinking": {"type": "disabled"}}, "classifier"),
    ],
)
def test_claude_purposes(headers: tuple[tuple[str, str], ...], changes: dict[str, object], purpose: str) -> None:
    assert identity_of(asked(*CLAUDE, *headers, body=TURN | changes)).purpose == purpose


def test_long_instruction_with_the_summary_beta_is_compaction() -> None:
    body = TURN | {"messages": [{"role": "user", "content": "x" * 5000}]}
    assert identity_of(asked(*CLAUDE, ("anthropic-beta", "fallback-credit-2026"), body=body)).purpose == "compaction"
    assert identity_of(asked(*CLAUDE, body=body)).purpose == "turn"


def test_a_summary_is_asked_for_whatever_system_messages_follow() -> None:
    """As an interactive client does that has not said anything for a while."""
    asking = {
        "role": "user",
        "content": [{"type": "tool_result", "content": "o"}, {"type": "text", "text": "x" * 5000}],
    }
    body = TURN | {"messages": [asking, {"role": "system", "content": "Keep them updated."}]}
    assert identity_of(asked(*CLAUDE, ("anthropic-beta", "fallback-credit-2026"), body=body)).purpose == "compaction"


@pytest.mark.parametrize("beta", ["a", "fallback-credit-2026"])
@pytest.mark.parametrize("question", ["why?", "x" * 5000])
def test_a_side_question_is_told_by_the_reminder_it_comes_with(beta: str, question: str) -> None:
    reminder = "<system-reminder>This is a side question from the user. Be short.</system-reminder>\n\n"
    texts = [{"type": "text", "text": text} for text in (reminder, question)]
    history = [*TURN["messages"], {"role": "assistant", "content": "hello"}, {"role": "user", "content": texts}]
    assert identity_of(asked(*CLAUDE, ("anthropic-beta", beta), body=TURN | {"messages": history})).purpose == (
        "side_question"
    )
    later = [*history, {"role": "assistant", "content": "so"}, {"role": "user", "content": "go on"}]
    assert identity_of(asked(*CLAUDE, body=TURN | {"messages": later})).purpose == "turn"


def test_schema_without_tools_is_a_title_for_a_session_text_and_a_hook_otherwise() -> None:
    schema = {"tools": [], "output_config": {"format": {"type": "json_schema", "schema": {}}}}
    title = {"messages": [{"role": "user", "content": [{"type": "text", "text": "<session>\nhi\n</session>"}]}]}
    assert identity_of(asked(*CLAUDE, body=TURN | schema | title)).purpose == "title"
    assert identity_of(asked(*CLAUDE, body=TURN | schema)).purpose == "hook"


def test_shapes_of_claude_mean_nothing_for_other_clients() -> None:
    assert identity_of(asked(("User-Agent", "curl/8"), body=TURN | {"tools": []})).purpose == "turn"


@pytest.mark.parametrize(
    ("method", "path", "purpose"),
    [
        ("POST", "/v1/messages/count_tokens?beta=true", "count_tokens"),
        ("HEAD", "/api/hello", "probe"),
        ("GET", "/v1/models", "other"),
        ("GET", "/v1/responses", "probe"),
        ("POST", "/v1/unknown", "other"),
    ],
)
def test_requests_outside_conversations(method: str, path: str, purpose: str) -> None:
    assert identity_of(asked(*CLAUDE, method=method, path=path)).purpose == purpose


def codex(
    metadata: Mapping[str, object], *headers: tuple[str, str], flat: dict[str, str] | None = None
) -> RequestRecord:
    client = {"x-codex-turn-metadata": orjson.dumps(metadata).decode()}
    body = {"model": "m", "input": [], "stream": True, "client_metadata": client}
    return asked(*headers, body=body, path="/v1/responses")


def test_codex_body_metadata_beats_headers() -> None:
    record = codex({"session_id": "s", "thread_id": "t", "turn_id": "u"}, ("session-id", "x"), ("thread-id", "y"))
    identity = identity_of(record)
    assert (identity.session_id, identity.agent_id, identity.turn_id) == ("s", "t", "u")


def test_codex_main_thread_is_the_main_agent() -> None:
    child = {"session_id": "s", "thread_id": "t", "parent_thread_id": "s", "agent_name": "/root/a"}
    identity = identity_of(codex(child, ("x-openai-subagent", "collab_spawn")))
    assert (identity.agent_id, identity.parent_agent_id, identity.agent_kind) == ("t", None, "subagent")
    assert identity_of(codex({"session_id": "s", "thread_id": "s"})).agent_id is None


def test_codex_header_copies_serve_when_the_body_is_silent() -> None:
    headers = (("session-id", "s"), ("x-codex-window-id", "t:3"), ("x-codex-parent-thread-id", "p"))
    identity = identity_of(asked(*headers, body={"model": "m", "input": []}, path="/v1/responses"))
    assert (identity.session_id, identity.agent_id, identity.parent_agent_id) == ("s", "t", "p")


@pytest.mark.parametrize(
    ("label", "kind", "purpose"),
    [
        ("collab_spawn", "subagent", "turn"),
        ("review", "side", "review"),
        ("guardian", "side", "guardian"),
        ("memory_consolidation", "side", "memory"),
        ("compact", "subagent", "compaction"),
        ("anything", "subagent", "turn"),
    ],
)
def test_codex_labels(label: str, kind: str, purpose: str) -> None:
    identity = identity_of(codex({"session_id": "s", "thread_id": "t"}, ("x-openai-subagent", label)))
    assert (identity.agent_kind, identity.purpose) == (kind, purpose)


def test_codex_child_that_takes_its_parents_history_along_is_a_fork() -> None:
    metadata = {"session_id": "s", "thread_id": "t", "history_initialization": "warm_fork"}
    assert identity_of(codex(metadata)).agent_kind == "fork"
    assert identity_of(codex(metadata | {"thread_id": "s"})).agent_kind == "main"


def test_codex_compaction_and_title_are_told_by_metadata() -> None:
    assert identity_of(codex({"session_id": "s", "request_kind": "compaction"})).purpose == "compaction"
    assert identity_of(codex({"session_id": "s", "thread_source": "thread_title"})).purpose == "title"


def test_unreadable_body_leaves_what_headers_say() -> None:
    record = asked(*CLAUDE, ("x-claude-code-agent-id", "a1"))
    identity = identify_heard(gather(record, b"", RequestFacts()))
    assert (identity.session_id, identity.agent_id, identity.purpose, identity.model) == ("s1", "a1", "turn", None)


names = st.sampled_from(
    ["session-id", "thread-id", "x-claude-code-agent-id", "x-openai-subagent", "User-Agent", "x-codex-turn-metadata"]
)
values = st.sampled_from(
    ["", "s", "t", "collab_spawn", "claude-cli/1.0", "codex_exec/1", "{", "[]", '{"thread_id":"t"}', "\u0000"]
)


@given(st.lists(st.tuples(names, values)), st.binary(max_size=40))
def test_any_request_has_an_identity_and_main_has_no_agent_id(headers: list[tuple[str, str]], body: bytes) -> None:
    record = replace(asked(*headers, path="/v1/responses"), body=body)
    identity = identity_of(record)
    assert (identity.agent_kind == "main") == (identity.agent_id is None)


# --- clients known from their sources: a row each

CHAT = {"model": "m", "messages": []}
GEMINI = {"model": "g", "user_prompt_id": "p", "request": {"session_id": "s", "contents": []}}


@pytest.mark.parametrize(
    ("headers", "body", "path", "expected"),
    [
        (
            {"User-Agent": "opencode/1.0.5", "x-opencode-session": "s", "x-opencode-request": "p"},
            CHAT,
            "/v1/chat/completions",
            ("opencode", "1.0.5", "s", "p"),
        ),
        ({"x-opencode-session": "s"}, CHAT, "/v1/chat/completions", ("opencode", None, "s", None)),
        (
            {"User-Agent": "opencode/1.0.5", "x-session-affinity": "s", "X-Session-Id": "s"},
            TURN,
            "/v1/messages",
            ("opencode", "1.0.5", "s", None),
        ),
        (
            {"User-Agent": "pi (linux)", "session_id": "s", "x-client-request-id": "s", "x-session-affinity": "s"},
            CHAT,
            "/v1/chat/completions",
            ("pi", None, "s", None),
        ),
        (
            {"User-Agent": "pi (linux)"},
            {"model": "m", "input": [], "prompt_cache_key": "s"},
            "/v1/responses",
            ("pi", None, "s", None),
        ),
        ({"User-Agent": "pi (linux)", "x-session-affinity": "s"}, TURN, "/v1/messages", ("pi", None, "s", None)),
        ({"X-Title": "Cline", "X-Task-ID": "s"}, CHAT, "/api/v1/chat/completions", ("cline", None, "s", None)),
        (
            {"User-Agent": "QwenCode/0.9.1 (linux; x64)"},
            CHAT | {"metadata": {"sessionId": "s", "promptId": "p", "channel": "c"}},
            "/v1/chat/completions",
            ("qwen-code", "0.9.1", "s", "p"),
        ),
        ({"User-Agent": "QwenCode/0.9.1"}, CHAT, "/v1/chat/completions", ("qwen-code", "0.9.1", None, None)),
        (
            {"User-Agent": "GeminiCLI/0.30.0/gemini (linux; x64)"},
            GEMINI,
            "/v1internal:streamGenerateContent?alt=sse",
            ("gemini-cli", "0.30.0", "s", "p"),
        ),
    ],
)
def test_other_agents_are_known_by_their_rows(
    headers: dict[str, str], body: object, path: str, expected: tuple[str | None, ...]
) -> None:
    record = Annotator().annotate_request(asked(*headers.items(), body=body, path=path))
    who = record.identity
    assert (who.harness, who.harness_version, who.session_id, who.turn_id) == expected
    assert (who.agent_id, who.agent_kind) == (None, "main")


def test_bodies_of_an_api_that_is_not_known_stay_unread_but_for_clients_that_name_themselves_there() -> None:
    record = asked(("User-Agent", "curl/8"), body=GEMINI, path="/v1internal:generateContent")
    who = Annotator().annotate_request(record).identity
    assert (who.session_id, who.model, who.purpose) == (None, None, "other")


def test_a_message_that_generates_nothing_is_a_prewarm() -> None:
    body = {"type": "response.create", "model": "m", "input": [], "generate": False}
    assert identity_of(asked(body=body, path="/v1/responses", method="GET")).purpose == "prewarm"
    assert identity_of(asked(body=body | {"generate": True}, path="/v1/responses", method="GET")).purpose == "turn"
