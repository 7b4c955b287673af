"""Who sent a request and what for: one table of sources per field, one table of rules per purpose and kind.

Measured on Claude Code 2.1.328 and Codex 0.171.0. What matters:
- Claude Code: one session header on everything; an agent header on sub-agents; a parent header only when the parent is
  itself a sub-agent, so none means "child of main". Nothing else is sure to be there: with a changed base URL the class
  headers come only when the user asks for them, so each purpose also has a rule on the request's shape.
- Codex: the turn metadata in the body is canonical, its header copy is the fallback (and all a handshake has). The
  session is the root's thread, also for sub-agents; the thread is the agent.
- OpenCode gives a child a session id of its own and names its parent's; `proxy.lineage` follows that to the root.
- Pi, Cline, Qwen Code and Gemini CLI only name a session; Pi does so in headers when told to, and as prompt cache key.
- An agent-type hook of Claude Code talks under the id of the agent that tripped it; `conversation` tells it apart, by
  the prefix that its requests share.
- `agent_kind` is "main" exactly when `agent_id` is None. A request beside the conversation (a title, a search) has no
  agent of its own: its purpose says what it is.
Not recognisable without the class headers: Workflow agents (taken for sub-agents).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from corpus.exchange import AgentKind, Identity, Purpose
from proxy.heard import Heard

# --- fields: the first source that says something wins; `proxy.heard` explains the places.
SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "session_id": (
        "turn:session_id",
        "flat:session_id",
        "header:x-claude-code-session-id",
        "header:session-id",
        "header:session_id",
        "header:conversation_id",
        "header:x-opencode-session",
        "header:x-session-id",
        "header:x-session-affinity",
        "header:x-task-id",
        "user:session_id",
        "body:metadata.sessionId",
        "body:request.session_id",
        "body:prompt_cache_key",
    ),
    "agent_id": (
        "turn:thread_id",
        "flat:thread_id",
        "header:x-claude-code-agent-id",
        "header:thread-id",
        "header:x-codex-window-id",
    ),
    "parent_agent_id": (
        "turn:parent_thread_id",
        "flat:x-codex-parent-thread-id",
        "header:x-claude-code-parent-agent-id",
        "header:x-codex-parent-thread-id",
        "header:x-parent-session-id",
    ),
    "agent_name": ("turn:agent_name",),
    "turn_id": (
        "turn:turn_id",
        "flat:turn_id",
        "header:x-claude-code-prompt-id",
        "header:x-opencode-request",
        "body:metadata.promptId",
        "body:user_prompt_id",
    ),
    "model": ("body:model", "turn:model"),
    "label": ("header:x-openai-subagent", "flat:x-openai-subagent", "turn:subagent_kind", "turn:thread_source"),
    "class": ("header:x-claude-code-request-class",),
}


def _said(heard: Heard, name: str) -> str:
    return heard.first(SOURCES[name]) or ""


# --- purpose: the first rule that holds.
PURPOSES: Final[tuple[tuple[Purpose, Callable[[Heard], bool]], ...]] = (
    ("count_tokens", lambda heard: heard.path.partition("?")[0].endswith("/count_tokens")),
    ("prewarm", lambda heard: heard.turn("request_kind") == "prewarm"),
    ("prewarm", lambda heard: not heard.facts.generates),
    ("probe", lambda heard: heard.method == "HEAD" or (heard.api == "openai-responses-ws" and not heard.body)),
    ("other", lambda heard: heard.api == "other"),
    # Codex says so.
    ("compaction", lambda heard: heard.turn("request_kind") == "compaction" or _said(heard, "label") == "compact"),
    ("memory", lambda heard: heard.turn("request_kind") == "memory" or _said(heard, "label").startswith("memory")),
    ("review", lambda heard: _said(heard, "label") == "review"),
    ("guardian", lambda heard: _said(heard, "label").startswith("guardian")),
    ("title", lambda heard: _said(heard, "label") == "thread_title"),
    # Claude Code says so.
    ("compaction", lambda heard: _said(heard, "class") == "compaction"),
    ("compaction", lambda heard: heard.header("x-claude-code-compaction") != ""),
    ("compaction", lambda heard: heard.header("x-cc-compaction-request") != ""),
    ("memory", lambda heard: "memory" in heard.header("x-claude-code-auxiliary-type")),
    # Claude Code, by the shape of the request.
    ("classifier", lambda heard: heard.is_bare and heard.facts.thinking_disabled is True and not heard.facts.stream),
    ("web_search", lambda heard: heard.is_claude and heard.facts.only_server_tools is True),
    ("title", lambda heard: heard.wants_title),
    ("hook", lambda heard: heard.wants_schema or heard.is_agent_hook),
    ("web_fetch", lambda heard: heard.has_identity_only),
    ("side_question", lambda heard: _said(heard, "class") in ("auxiliary", "side_reply")),
    ("side_question", lambda heard: heard.asks_aside),
    ("compaction", lambda heard: heard.wants_summary),
    ("turn", lambda _: True),
)

# --- kind of the agent, for requests that have one: the first rule that holds.
KINDS: Final[tuple[tuple[AgentKind, Callable[[Heard, Purpose], bool]], ...]] = (
    ("hook", lambda _, purpose: purpose == "hook"),
    ("workflow", lambda heard, _: _said(heard, "class") == "workflow"),
    ("workflow", lambda heard, _: heard.header("x-claude-code-agent-type") == "workflow-subagent"),
    ("side", lambda heard, _: _said(heard, "label").startswith(("review", "guardian", "memory"))),
    ("fork", lambda heard, _: heard.turn("history_initialization") == "warm_fork"),
    ("subagent", lambda _heard, _purpose: True),
)


def identify_heard(heard: Heard) -> Identity:
    session_id = heard.first(SOURCES["session_id"])
    agent_id = _unless_main(heard.first(SOURCES["agent_id"]), session_id)
    purpose = next(purpose for purpose, holds in PURPOSES if holds(heard))
    kind: AgentKind = "main"
    if agent_id is not None:
        kind = next(kind for kind, holds in KINDS if holds(heard, purpose))
    return Identity(
        session_id=session_id,
        agent_id=agent_id,
        parent_agent_id=_unless_main(heard.first(SOURCES["parent_agent_id"]), session_id),
        agent_name=heard.first(SOURCES["agent_name"]),
        agent_kind=kind,
        purpose=purpose,
        turn_id=heard.first(SOURCES["turn_id"]),
        harness=heard.harness,
        harness_version=heard.version,
        model=heard.first(SOURCES["model"]),
        stream=heard.facts.stream,
        conversation=heard.prefix if purpose == "hook" else None,
    )


def _unless_main(agent_id: str | None, session_id: str | None) -> str | None:
    """Codex names the session after its main thread; that one is None here."""
    return None if agent_id == session_id else agent_id
