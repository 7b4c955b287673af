"""A server that only listens: it keeps the bytes of every request and answers as many tokens as were asked for."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Heard:
    url: str = ""
    bodies: list[bytes] = field(default_factory=list)


@contextlib.contextmanager
def listening() -> Iterator[Heard]:
    heard = Heard()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.bodies.append(body)
            answer = _answer(json.loads(body))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    heard.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(asked: dict[str, Any]) -> bytes:
    tokens = asked["max_tokens"]
    usage = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": tokens}
    chunks: list[dict[str, Any]] = [{"choices": [{"text": "x", "finish_reason": None}]}] * (tokens - 1)
    chunks.append({"choices": [{"text": "x", "finish_reason": "length"}]})
    chunks.append({"choices": [], "usage": usage})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
