"""Stored bytes and writer's CPU: a 150-turn session of a main agent, and one with two sub-agents, through the scribe.

The bodies grow from 76 KB to above 1 MB, each turn repeating its history and moving its cache_control mark. What is
measured is all that happens behind the queue: parsing, annotating, compressing, writing. A busy machine makes CPU time
longer too, so what one plain JSON parse of 1 MB takes in the same run is told beside it.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
from rig import report, texts

from corpus.capture.writer import CaptureWriter
from corpus.exchange import Identity, RequestRecord, ResponseRecord
from proxy.backlog import Backlog
from proxy.scribe import Scribe

TURNS = 150
TURN_BYTES = 7000
TOOLS = [
    {"name": f"tool_{n}", "description": "Does things. " * 60, "input_schema": {"type": "object"}} for n in range(24)
]


def main() -> None:
    measure("warm-up", [("main", None)], told=False)
    measure("150 turns, main agent", [("main", None)])
    measure("150 turns, main agent and two sub-agents", [("main", None), ("sub", "a1"), ("sub", "a2")])


def measure(name: str, agents: list[tuple[str, str | None]], *, told: bool = True) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = lambda: time.time_ns() // 1000  # noqa: E731
        backlog = Backlog(max_bytes=1 << 40)
        raw = 0
        sessions = [session(agent_id) for _, agent_id in agents]
        for exchange in itertools.chain.from_iterable(zip(*sessions, strict=True)):
            for record in exchange:
                backlog.put(record)
                raw += len(record.body)
        scribe = Scribe(backlog, CaptureWriter(Path(folder) / "captures", "w0"), "interval", clock)
        backlog.close()
        began, threads_began = time.process_time(), threading.active_count()
        scribe.start()
        scribe.finish()
        cpu_ms = (time.process_time() - began) * 1e3 / scribe.counts["requests"]
        stored = sum(file.stat().st_size for file in (Path(folder) / "captures").iterdir())
        assert threads_began == threading.active_count()
    if not told:
        return
    numbers = {"session": name, "requests": scribe.counts["requests"], "raw_bytes": raw, "stored_bytes": stored}
    numbers["json_parse_1mb_ms"] = round(parse_ms(body([{"role": "user", "content": [{"text": "x" * 99}]}] * 7500)), 2)
    report("store_ratio", ">= 60", ok=raw / stored >= 60, ratio=round(raw / stored, 1), **numbers)
    report("writer_cpu_ms_per_request", "<= 3", ok=cpu_ms <= 3, cpu_ms=round(cpu_ms, 2), **numbers)


def parse_ms(sent: bytes) -> float:
    began = time.thread_time()
    for _ in range(10):
        orjson.loads(sent)
    return (time.thread_time() - began) * 1e9 / 10 / len(sent)


def session(agent_id: str | None) -> Iterator[tuple[RequestRecord, ResponseRecord]]:
    pieces = texts(TURN_BYTES, start=1000 * int((agent_id or "a0")[1:]))
    messages: list[dict[str, object]] = []
    for turn in range(TURNS):
        messages.append({"role": "user", "content": [{"type": "text", "text": f"{agent_id} {next(pieces)}"}]})
        yield exchange(agent_id, turn, body(messages))
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"thought {turn}"}]})


def body(messages: list[dict[str, object]]) -> bytes:
    """As Claude Code sends it: the cache mark sits on the last message, one system block changes."""
    last = messages[-1] | {"content": [messages[-1]["content"][0] | {"cache_control": {"type": "ephemeral"}}]}  # type: ignore[index]
    system = [
        {"type": "text", "text": "You are a coding agent. " * 580},
        {"type": "text", "text": f"turn {len(messages)}"},
    ]
    whole = {"model": "claude-x", "tools": TOOLS, "system": system, "messages": [*messages[:-1], last], "stream": True}
    return json.dumps(whole, separators=(",", ":")).encode()


def exchange(agent_id: str | None, turn: int, sent: bytes) -> tuple[RequestRecord, ResponseRecord]:
    name, start = f"{agent_id}-{turn:04}", 1_700_000_000_000_000 + turn * 5_000_000
    headers = [
        ("content-type", "application/json"),
        ("x-claude-code-session-id", "bench"),
        ("user-agent", "claude-cli/2"),
    ]
    headers += [("x-claude-code-agent-id", agent_id)] if agent_id else []
    request = RequestRecord(
        *(name, start, start + 100, "POST", "/v1/messages", "anthropic-messages", "https://provider.example"),
        *(tuple(headers), Identity(), None, len(sent), sent),
    )
    pieces = list(answer(turn))
    times = tuple(range(300, 300 + 20_000 * len(pieces), 20_000))
    stream = b"".join(pieces)
    response = ResponseRecord(
        *(name, "complete", 200, (("content-type", "text/event-stream"),), start + 200, start + 300, start + 400),
        *(tuple(map(len, pieces)), times, None, None, len(stream), stream),
    )
    return request, response


def answer(turn: int) -> Iterator[bytes]:
    """About 27 KB of events, as a real turn's."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 1000 * turn, "output_tokens": 1}
    start = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    yield event("message_start", message=start)
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for number, piece in zip(range(200), texts(20), strict=False):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": f"{turn} {number} {piece}"})
    yield event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 200})
    yield event("message_stop")


def event(name: str, **fields: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode()


if __name__ == "__main__":
    main()
