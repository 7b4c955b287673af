"""Agent conversations for benchmarks, as a coding agent would send them: real text, invented turns, always the same.

Text comes from this Python's own sources and documentation, so nothing has to be shipped. A conversation is a system
prompt, tools, and turns of (question or tool results) and (thought, words, tool calls).
"""

from __future__ import annotations

import base64
import hashlib
import json
import pydoc_data.topics
import random
import struct
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from corpus.exchange import Exchange, Identity, RequestRecord, ResponseRecord
from wire.api import api_of

Json = dict[str, Any]

_MODULES: Final = (
    "argparse",
    "ast",
    "asyncio/base_events",
    "configparser",
    "datetime",
    "difflib",
    "doctest",
    "inspect",
)
_MODULES_2: Final = (
    "locale",
    "logging/__init__",
    "mailbox",
    "optparse",
    "pdb",
    "pickle",
    "shutil",
    "tarfile",
    "typing",
)
_TOOLS: Final = ("Bash", "Edit", "Glob", "Grep", "Read", "Task", "WebFetch", "Write")
_WORDS: Final = ("alpha", "beta", "cache", "delta", "edge", "field", "graph", "handle", "index", "join", "key", "node")


class Texts:
    """Slices of code, prose, logs and JSON, drawn by a seeded generator."""

    def __init__(self, seed: int) -> None:
        folder = Path(sysconfig.get_paths()["stdlib"])
        self.random = random.Random(seed)
        self._code = [(folder / f"{name}.py").read_text() for name in (*_MODULES, *_MODULES_2)]
        self._prose = [text for text in pydoc_data.topics.topics.values() if len(text) > 2_000]

    def code(self, size: int) -> str:
        return self._cut(self.random.choice(self._code), size)

    def prose(self, size: int) -> str:
        return self._cut(self.random.choice(self._prose), size)

    def log(self, size: int) -> str:
        draw = self.random.randrange
        lines = (
            f"2026-11-{draw(1, 31):02d}T{draw(24):02d}:{draw(60):02d} INFO worker-{draw(99)} "
            f"{self.random.choice(_WORDS)}={draw(1 << 32):#x} took {self.random.random():.3f} ms\n"
            for _ in range(size // 70 + 1)
        )
        return "".join(lines)[:size]

    def data(self, size: int) -> str:
        rows = [self._row() for _ in range(size // 90 + 1)]
        return json.dumps(rows, indent=self.random.choice((None, 2)))

    def mixed(self, size: int) -> str:
        return self.random.choice((self.code, self.code, self.prose, self.log, self.data))(size)

    def size(self, median: int) -> int:
        return int(self.random.lognormvariate(0, 0.9) * median) + 20

    def _row(self) -> Json:
        draw = self.random.randrange
        return {
            self.random.choice(_WORDS): draw(10**6),
            "path": f"src/{self.random.choice(_WORDS)}/{draw(99)}.py",
            "ok": bool(draw(2)),
        }

    def _cut(self, text: str, size: int) -> str:
        start = self.random.randrange(max(len(text) - size, 1))
        return text[start : start + size]


@dataclass(slots=True)
class Turn:
    """What one request adds, and how it is answered. `thought`: characters that were thought and are never shown."""

    said: list[Json]  # blocks of the user's message
    thought: str
    answer: list[Json]  # blocks of the assistant's message, the sealed thought included
    image: tuple[int, int] | None = None


@dataclass(slots=True)
class Conversation:
    system: list[Json]
    tools: list[Json]
    turns: list[Turn] = field(default_factory=list)

    def bodies(self, model: str) -> Iterator[Json]:
        """The request body of each turn, with all history."""
        messages: list[Json] = []
        for turn in self.turns:
            messages = [*messages, {"role": "user", "content": turn.said}]
            yield {"model": model, "messages": messages, "system": self.system, "tools": self.tools, "stream": True}
            messages = [*messages, {"role": "assistant", "content": turn.answer}]


def converse(
    texts: Texts, turns: int, result_size: int, *, thinking: bool = False, images: float = 0.0
) -> Conversation:
    """`result_size`: characters of a median tool result."""
    tools = [_tool(texts, name) for name in _TOOLS]
    made = Conversation([{"type": "text", "text": texts.prose(texts.size(9_000))}], tools)
    calls: list[str] = []
    for number in range(turns):
        image = None
        said: list[Json] = [
            {"type": "tool_result", "tool_use_id": call_id, "content": texts.mixed(texts.size(result_size))}
            for call_id in calls
        ]
        if not calls or texts.random.random() < 0.2:
            said.append({"type": "text", "text": texts.prose(texts.size(400))})
        if texts.random.random() < images:
            image = (texts.random.randrange(200, 1500), texts.random.randrange(200, 1500))
            said.append(_image(*image))
        calls = [f"toolu_{number:04d}_{n}" for n in range(texts.random.randrange(3))]
        made.turns.append(_turn(texts, said, calls, image, thinking=thinking))
    return made


def _turn(texts: Texts, said: list[Json], calls: list[str], image: tuple[int, int] | None, *, thinking: bool) -> Turn:
    thought = texts.prose(texts.size(700)) if thinking and texts.random.random() < 0.6 else ""
    answer: list[Json] = []
    if thought:
        noise = texts.random.lognormvariate(0, 0.25)
        seal = hashlib.sha256(thought.encode()).hexdigest() * (1 + int(len(thought) * noise * 1.4) // 64)
        answer.append({"type": "thinking", "thinking": "", "signature": seal})
    answer.append({"type": "text", "text": texts.prose(texts.size(300))})
    for call_id in calls:
        given = {"command": texts.code(texts.size(150)), "timeout": texts.random.randrange(10**5)}
        answer.append({"type": "tool_use", "id": call_id, "name": texts.random.choice(_TOOLS), "input": given})
    return Turn(said, thought, answer, image)


def _tool(texts: Texts, name: str) -> Json:
    properties = {word: {"type": "string", "description": texts.prose(90)} for word in texts.random.sample(_WORDS, 4)}
    schema = {"type": "object", "properties": properties, "required": list(properties)[:2]}
    return {"name": name, "description": texts.prose(texts.size(1_500)), "input_schema": schema}


def _image(width: int, height: int) -> Json:
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + struct.pack(">dd", width, height)
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data * 40).decode()}
    return {"type": "image", "source": source}


def exchange_of(number: int, body: Json, answer: list[Json], usage: Json, identity: Identity) -> Exchange:
    """One answered request, a second after the one before; the answer as one JSON message."""
    at = number * 1_000_000
    heard = json.dumps(body, separators=(",", ":")).encode()
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"]}
    sent = json.dumps(message | {"content": answer, "stop_reason": "end_turn", "usage": usage}).encode()
    made_id = f"x{number:08d}"
    request = RequestRecord(
        made_id,
        at,
        at,
        "POST",
        "/v1/messages",
        api_of("POST", "/v1/messages"),
        "http://127.0.0.1:1",
        (),
        identity,
        None,
        len(heard),
        heard,
    )
    headers = (("content-type", "application/json"),)
    response = ResponseRecord(
        made_id, "complete", 200, headers, at, at + 9, at + 500_000, (len(sent),), (9,), None, None, len(sent), sent
    )
    return Exchange(request, response)


def without_bodies(one: Exchange) -> Exchange:
    response = replace(one.response, body=b"") if one.response else None
    return Exchange(replace(one.request, body=b""), response)
