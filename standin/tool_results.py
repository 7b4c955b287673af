"""What the scripted agents' tools "return": several KB of made-up text that depends on the call and the seed only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from standin.prose import chance, file_name, log_lines, prose, records, source_code

_READ_CHARS: Final = (1500, 7000)  # bounds of the text's length
_SHELL_CHARS: Final = (400, 4500)


@dataclass(frozen=True, slots=True)
class ToolResult:
    text: str
    is_error: bool
    seconds: float  # at a pace of one second a tool


def read_result(path: str, *seed: object) -> ToolResult:
    dice = chance("read", path, *seed)
    chars = dice.randint(*_READ_CHARS)
    if path.endswith((".py", ".js")):
        text = source_code(chars, path, *seed)
    elif path.endswith(".json"):
        text = records(chars, path, *seed)
    else:
        text = prose(chars, path, *seed)
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(text.splitlines(), 1))
    return ToolResult(numbered, is_error=False, seconds=dice.uniform(0.1, 0.5))


def shell_result(command: str, *seed: object) -> ToolResult:
    dice = chance("shell", command, *seed)
    chars = dice.randint(*_SHELL_CHARS)
    if command.startswith("ls"):
        lines = (f"-rw-r--r-- 1 dev dev {dice.randrange(90_000):6} {file_name(n, *seed)}" for n in range(chars // 60))
        text = "\n".join(lines)
    elif command.startswith("cat"):
        text = source_code(chars, command, *seed)
    else:
        text = log_lines(chars, command, *seed)
    failed = dice.random() < 0.1
    return ToolResult(f"Exit code 1\n{text}" if failed else text, failed, dice.uniform(0.3, 2.0))


def write_result(path: str, *seed: object) -> ToolResult:
    return ToolResult(f"Wrote {path}.", is_error=False, seconds=chance("write", path, *seed).uniform(0.05, 0.2))
