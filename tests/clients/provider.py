"""A model provider that does as told, turn by turn: for what the stand-in model has no script for."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from proxy.recorder import RecordSettings, start_recorder
from tests.proxy.conftest import Recording
from tests.proxy.loopback import SSE_HEAD, RawRequest, Upstream, chunked

Step = Callable[[socket.socket], None]

NOTHING: Final = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
_HEAD_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
NO_UPGRADE: Final = b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n"
_TURNS: Final = (b"/v1/messages", b"/v1/responses")


def event(kind: str, **fields: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), orjson.dumps({"type": kind} | fields))


def claude_answer(text: str) -> tuple[bytes, bytes]:
    """What is said up to and with the text, and the rest."""
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    begun = event("message_start", message=message | {"stop_reason": None, "stop_sequence": None})
    begun += event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    begun += event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
    rest = event("content_block_stop", index=0)
    rest += event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 7})
    return begun, rest + event("message_stop")


def codex_answer(text: str) -> tuple[bytes, bytes]:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    begun = event("response.created", response={"id": "resp_1"})
    begun += event("response.output_item.added", output_index=0, item=item | {"content": []})
    begun += event("response.output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta=text)
    rest = event("response.output_item.done", output_index=0, item=item)
    usage = {"input_tokens": 9, "output_tokens": 7, "total_tokens": 16}
    return begun, rest + event("response.completed", response={"id": "resp_1", "output": [item], "usage": usage})


def say(answer: tuple[bytes, bytes]) -> Step:
    return lambda connection: connection.sendall(SSE_HEAD + chunked(*answer) + b"0\r\n\r\n")


def json_answer(body: bytes, status: bytes = b"200 OK") -> Step:
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    return lambda connection: connection.sendall(head + body)


def refuse(status: int) -> Step:
    body = orjson.dumps({"type": "error", "error": {"type": "api_error", "message": "not now"}})
    return json_answer(body, b"%d No" % status)


class Stall:
    """Begins an answer and goes silent until the client leaves."""

    def __init__(self, answer: tuple[bytes, bytes]) -> None:
        self.begun = threading.Event()
        self._answer = answer

    def __call__(self, connection: socket.socket) -> None:
        connection.sendall(SSE_HEAD + chunked(self._answer[0]))
        self.begun.set()
        connection.settimeout(120)
        connection.recv(1)
        raise EOFError


def play(upstream: Upstream, *steps: Step) -> None:
    """One step for each turn that is asked, the last one again and again."""
    left = list(steps)

    def answer(connection: socket.socket, request: RawRequest) -> None:
        method, _, path = request.line.partition(b" ")
        path = path.partition(b" ")[0].partition(b"?")[0]
        if b"upgrade: websocket" in request.head.lower():
            connection.sendall(NO_UPGRADE)
        elif method == b"POST" and path in _TURNS:
            (left.pop(0) if len(left) > 1 else left[0])(connection)
        else:
            connection.sendall(_HEAD_OK if method == b"HEAD" else NOTHING)

    upstream.answer = answer


@contextlib.contextmanager
def heard(upstream: Upstream, folder: Path, **changes: object) -> Iterator[Recording]:
    """A recorder between a client and the provider; `changes` are fields of RecordSettings."""
    settings: dict[str, object] = {
        "captures": folder / "captures",
        "anthropic_port": 0,
        "openai_port": 0,
        "anthropic_upstream": upstream.url,
        "openai_upstream": f"{upstream.url}/v1",
    }
    recorder = start_recorder(RecordSettings(**(settings | changes)))  # type: ignore[arg-type]
    recording = Recording(recorder, upstream, folder / "captures")
    try:
        yield recording
    finally:
        recording.stop()
