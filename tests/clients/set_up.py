"""What each client needs on top of an empty environment: variables, files in its home, and how a prompt is written on
its command line. What a person would be asked at the first start is answered: who they are, and whom they trust.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.clients.scenarios import Scenario

PINNED: Final = json.loads((Path(__file__).parent / "package.json").read_bytes())["dependencies"]


@dataclass(frozen=True, slots=True)
class Own:
    environment: dict[str, str]
    arguments: Callable[[str, bool], list[str]]  # prompt, whether the session is resumed
    interactive: list[str]  # arguments without a prompt
    ready: str  # drawn when it may be typed
    leave: str  # typed to end it


def claude_set_up(scenario: Scenario, home: Path, repository: Path, key: str, recorder: Mapping[str, str]) -> Own:
    settings = home / "claude"
    settings.mkdir()
    known: dict[str, Any] = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": PINNED["@anthropic-ai/claude-code"],
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
        "projects": {str(repository): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    (settings / ".claude.json").write_text(json.dumps(known))
    environment = {
        "CLAUDE_CONFIG_DIR": str(settings),
        "IS_SANDBOX": "1",  # accepts the flag below for a superuser
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ANTHROPIC_API_KEY": key,
        "ANTHROPIC_BASE_URL": recorder.get("anthropic", ""),
    }
    flags = ["--dangerously-skip-permissions", *scenario.arguments]

    def arguments(prompt: str, resume: bool) -> list[str]:
        return [*(["-c"] if resume else []), "-p", prompt, *flags]

    return Own(environment, arguments, flags, "bypass permissions on", "/exit")


def codex_set_up(scenario: Scenario, home: Path, repository: Path, key: str, recorder: Mapping[str, str]) -> Own:
    settings = home / "codex"
    settings.mkdir()
    lines = [
        f'openai_base_url = "{recorder["openai"]}"',
        "check_for_update_on_startup = false",
        f'[projects."{repository}"]',
        'trust_level = "trusted"',
    ]
    (settings / "config.toml").write_text("\n".join(lines) + "\n")
    (settings / "auth.json").write_text(json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": key}))
    environment = {"CODEX_HOME": str(settings), "OPENAI_API_KEY": key, "CODEX_API_KEY": key}
    flags = ["--dangerously-bypass-approvals-and-sandbox", *scenario.arguments]

    def arguments(prompt: str, resume: bool) -> list[str]:
        return ["exec", *flags, *(["resume", "--last"] if resume else []), prompt]

    return Own(environment, arguments, ["--no-alt-screen", "--no-daemon", *flags], "permissions: YOLO mode", "/quit")


SET_UP: Final = {"claude": claude_set_up, "codex": codex_set_up}
