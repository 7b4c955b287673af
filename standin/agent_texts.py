"""What the scripted agents bring along on every request: instructions and tool definitions of realistic size.

The words are filler, equal in every session, so that prompts share a long prefix as real ones do. Names, schemas'
property names and sizes follow what Claude Code 2.1 and Codex 0.171 send; the sentences are our own.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from standin.prose import prose, records

DATE: Final = "2026-01-01"

# Claude Code: tool -> (characters of description, property names); sorted as sent, Write last
_CLAUDE_TOOLS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "Agent": (4300, ("description", "prompt", "subagent_type", "run_in_background")),
    "Bash": (2900, ("command", "description", "timeout", "run_in_background")),
    "Edit": (600, ("file_path", "old_string", "new_string", "replace_all")),
    "Read": (1500, ("file_path", "offset", "limit")),
    "ReportFindings": (1900, ("findings", "level")),
    "Skill": (1400, ("skill", "args")),
    "ToolSearch": (1100, ("query", "max_results")),
    "Workflow": (4800, ("script", "args", "title")),
    "DeferredToolPlaceholder": (60, ()),
    "Write": (300, ("file_path", "content")),
}
_MAIN_ONLY: Final = ("ReportFindings", "Workflow")
# Codex: namespace -> tool -> (characters of description, property names; none: a plain-text tool)
_CODEX_TOOLS: Final[dict[str, dict[str, tuple[int, tuple[str, ...]]]]] = {
    "functions": {
        "exec": (22_000, ()),
        "wait": (900, ("cell_id", "max_tokens", "terminate")),
        "request_user_input": (700, ("questions",)),
    },
    "clock": {"sleep": (250, ("duration_ms",))},
    "collaboration": {
        "followup_task": (500, ("message", "target")),
        "interrupt_agent": (200, ("target",)),
        "list_agents": (300, ("path_prefix",)),
        "send_message": (400, ("message", "target")),
        "spawn_agent": (2800, ("fork_turns", "message", "task_name")),
        "wait_agent": (400, ("timeout_ms",)),
    },
}


@cache
def claude_tools(*, main: bool) -> tuple[dict[str, Any], ...]:
    rows = ((name, row) for name, row in _CLAUDE_TOOLS.items() if main or name not in _MAIN_ONLY)
    return tuple(_claude_tool(name, *row) for name, row in rows)


def _claude_tool(name: str, chars: int, properties: tuple[str, ...]) -> dict[str, Any]:
    described = {"description": prose(chars, "tool", name)}
    if not properties:
        schema = {"properties": {}, "type": "object"}
        return {"defer_loading": True, **described, "input_schema": schema, "name": name}
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **_schema(name, properties)}
    return {**described, "input_schema": schema, "name": name}


def _schema(name: str, properties: tuple[str, ...]) -> dict[str, Any]:
    fields = {key: {"type": "string", "description": prose(90, "field", name, key)} for key in properties}
    return {"additionalProperties": False, "properties": fields, "required": [properties[0]], "type": "object"}


@cache
def claude_identity() -> str:
    return "You are the stand-in of a coding agent; everything you read here is filler."


@cache
def claude_system(*, main: bool) -> str:
    return f"\n{prose(5600 if main else 2600, 'claude-system', main)}"


@cache
def claude_title_system() -> str:
    return prose(3000, "claude-title")


def claude_reminders() -> tuple[str, str]:
    return (
        f"<system-reminder>\n{prose(480, 'git-status')}\n</system-reminder>",
        f"<system-reminder>\n{prose(500, 'attribution')}\n</system-reminder>\n",
    )


def claude_environment(cwd: str, *, main: bool) -> str:
    """The system-role message that follows the first user message."""
    body = prose(9000 if main else 7000, "environment", main)
    return f"# Environment\n - Working directory: {cwd}\n - Platform: linux\n\n{body}\n\nToday is {DATE}."


@cache
def claude_late_note() -> str:
    """The system-role message a sub-agent gets after its first tool results."""
    return prose(2000, "late-note")


@cache
def codex_tools() -> tuple[dict[str, Any], ...]:
    return tuple(
        {
            "type": "namespace",
            "name": space,
            "description": prose(60, "namespace", space),
            "tools": [_codex_tool(name, *row) for name, row in tools.items()],
        }
        for space, tools in _CODEX_TOOLS.items()
    )


def _codex_tool(name: str, chars: int, properties: tuple[str, ...]) -> dict[str, Any]:
    head = {"name": name, "description": prose(chars, "codex-tool", name)}
    if not properties:
        grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /(.|\\n)+/"}
        return {"type": "custom", **head, "format": grammar}
    return {"type": "function", **head, "strict": False, "parameters": _schema(name, properties)}


# Codex: (role, one (label, text) for each content part) of the items before the task
def codex_context(cwd: str) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    where = f"<environment_context>\n  <cwd>{cwd}</cwd>\n  <shell>bash</shell>\n  <current_date>{DATE}</current_date>"
    return (
        ("developer", (("model.base_instructions", _codex_base()),)),
        (
            "developer",
            (
                ("host_skills.instructions", _tagged("skills_instructions", 2000)),
                ("permissions.instructions", _tagged("permissions instructions", 320)),
                ("collaboration_mode.instructions", _tagged("collaboration_mode", 1000)),
            ),
        ),
        ("developer", (("multi_agent.role_instructions", _tagged("multi_agent_role", 2300)),)),
        (
            "user",
            (
                ("agents_md.instructions", f"# AGENTS.md instructions for {cwd}\n\n{records(400, 'agents-md')}"),
                ("environments.environment_context", f"{where}\n</environment_context>"),
            ),
        ),
    )


@cache
def _codex_base() -> str:
    return prose(24_000, "codex-base")


@cache
def _tagged(tag: str, chars: int) -> str:
    return f"<{tag}>{prose(chars, 'codex', tag)}</{tag.split(' ', maxsplit=1)[0]}>"
