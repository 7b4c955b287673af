"""The words a corpus may hold, and how the client's own words are mapped onto them.

What the tables do not know becomes "other"; it is never passed through. Which field may hold which of these words is
`anonymize.policy`'s to say.
"""

from __future__ import annotations

import re
from typing import Final

from corpus.session import Role, ToolClass

OTHER: Final = "other"

# Tools by the name in the provider's protocol (without namespace), as seen in Claude Code 2.1 and Codex 0.171, and the
# older and foreign names whose meaning is plain. Anything else is "mcp" by its prefix or "other".
TOOL_CLASSES: Final[dict[str, ToolClass]] = {
    **dict.fromkeys(("Bash", "BashOutput", "KillShell", "KillBash", "PowerShell", "Monitor"), "shell"),
    **dict.fromkeys(
        ("exec", "exec_command", "write_stdin", "wait", "shell", "shell_command", "local_shell", "bash"), "shell"
    ),
    **dict.fromkeys(("Read", "NotebookRead", "LS", "read_file", "view_image", "list_dir", "read"), "read"),
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch", "edit", "write"), "edit"),
    **dict.fromkeys(("Grep", "Glob", "ToolSearch", "tool_search", "grep_files", "grep", "glob"), "search"),
    **dict.fromkeys(("WebSearch", "WebFetch", "web_search", "web_fetch"), "web"),
    **dict.fromkeys(("Agent", "Task", "Workflow", "SendMessage", "TaskOutput", "TaskStop", "ListAgents"), "agent"),
    **dict.fromkeys(("spawn_agent", "wait_agent", "followup_task", "send_input", "send_message"), "agent"),
    **dict.fromkeys(("interrupt_agent", "resume_agent", "close_agent", "list_agents"), "agent"),
}
_MCP_PREFIX: Final = "mcp__"

HARNESSES: Final = frozenset(
    {"claude-code", "codex", "opencode", "pi", "cline", "qwen-code", "gemini-cli", "aider", OTHER}
)

# Public model names. A name matches as a whole or becomes "other": deployments and fine-tunes carry private names.
_MODEL_WORDS: Final = (
    "opus|sonnet|haiku|instant|fable|mythos|mini|nano|micro|pro|max|plus|turbo|flash|lite|fast|codex|sol|terra|luna|chat|"
    "coder|instruct|thinking|reasoner|preview|latest|exp|air|large|medium|small|next|high|low|spark"
)
_MODEL_FAMILIES: Final = "claude|gpt|o|codex|gemini|deepseek|qwen|kimi|glm|minimax|grok|mistral|devstral|llama"
_MODEL: Final = re.compile(
    rf"(?:{_MODEL_FAMILIES})-?[kmrv]?(?:\d{{1,2}}(?:\.\d{{1,2}})?[ob]?)?"  # family and version
    rf"(?:-(?:{_MODEL_WORDS}|[krv]?\d{{1,2}}(?:\.\d{{1,2}})?|\d{{1,3}}b|a\d{{1,2}}b|oss)){{0,5}}"
    r"(?:-\d{4}|[-@]20\d{6}|-20\d\d-\d\d-\d\d)?(?:\[1m\])?",  # date, long context
)
_MODEL_LENGTH: Final = 48

# Stop reasons of the three APIs: Anthropic `stop_reason`; Responses `status`, or why it is incomplete; Chat
# `finish_reason`.
STOPS: Final = frozenset(
    {"", "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "compaction"}
    | {"model_context_window_exceeded", "completed", "incomplete", "failed", "cancelled", "max_output_tokens"}
    | {"content_filter", "stop", "length", "tool_calls", "function_call", OTHER}
)

# Kinds of content, in the words of the WEKA format.
KINDS: Final[dict[Role, str]] = {
    "system": "text",
    "tools": "text",
    "user": "text",
    "reminder": "text",
    "assistant": "text",
    "tool_call": "tool_use",
    "tool_result": "tool_result",
    "thinking": "thinking",
    "image": "image",
    "document": "document",
    "opaque": "opaque",
}


_CREATED_BY: Final = re.compile(r"agentreel [0-9][0-9a-z.+-]{0,24}")
_TOKENIZER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_AUDIT: Final = re.compile(r"T\d{1,2}|(?:passed|failed) on \d+ of \d+ sessions")
_HEX: Final = re.compile(r"(?:[0-9a-f]{32}|[0-9a-f]{64})?")


def tool_class(name: str | None) -> ToolClass:
    """The class of a tool by its wire name; a namespace in front ("collaboration.spawn_agent") is ignored."""
    bare = (name or "").rsplit(".", 1)[-1]
    if bare.startswith(_MCP_PREFIX) or (name or "").startswith(_MCP_PREFIX):
        return "mcp"
    return TOOL_CLASSES.get(bare, "other")


def public_model(name: str | None) -> str:
    """A model's public name, or "other"."""
    return name if name and len(name) <= _MODEL_LENGTH and _MODEL.fullmatch(name) else OTHER


def public_harness(name: str | None) -> str | None:
    """A known harness, "other" for an unknown one, None when nothing told."""
    return None if name is None else name if name in HARNESSES else OTHER


def version_numbers(version: str | None) -> tuple[int, ...]:
    """Leading numbers of a version, at most four: "2.1.328-dev" -> (2, 1, 328)."""
    match = re.match(r"\d{1,6}(?:\.\d{1,6}){0,3}", version or "")
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def public_stop(stop: str | None) -> str:
    """A known stop reason, "other" for an unknown one, "" when the provider gave none."""
    return stop if stop in STOPS else OTHER if stop else ""


def created_by(text: str) -> str | None:
    """Our own name and version, nothing else."""
    return text if _CREATED_BY.fullmatch(text) else None


def tokenizer_name(text: str) -> str | None:
    """A short name without a path in it."""
    return text if _TOKENIZER_NAME.fullmatch(text) else None


def checksum(text: str) -> str | None:
    """A fingerprint or a SHA-256 in hexadecimal, or "" where there is none yet."""
    return text if _HEX.fullmatch(text) else None


def audit_word(text: str) -> str | None:
    """The number of an audit test, or on how many sessions it ran and what came of it."""
    return text if _AUDIT.fullmatch(text) else None
