"""A fast stand-in for an inference server, for benchmarks of clients: streams fixed answers, counts who waits on it.

    python mock_engine.py [--ttft S] [--itl S] [--log FILE]

Every request costs it as little as possible, so that two clients on one machine are told apart: answers of one length
are made once, each chunk is a write of its own. It speaks the OpenAI chat and completions streams. `GET /stats` gives
the mean number of requests in flight between the first and the last arrival, and their count; POST /reset forgets.
The first line on stdout is its URL. With --log, one line a request: arrival and end in wall-clock seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import time
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import orjson

_LENGTH = re.compile(rb'"max_(?:completion_)?tokens": ?(\d+)')
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n%s\r\n"


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value: Any) -> bytes:
    return framed(b"data: " + orjson.dumps(value) + b"\n\n")


@cache
def answer(tokens: int, *, chat: bool) -> tuple[bytes, ...]:
    """The writes of an answer of that many tokens."""
    kind = "chat.completion.chunk" if chat else "text_completion"
    named = {"id": "cmpl-1", "object": kind, "created": 1, "model": "mock"}
    said = {"delta": {"content": " tok"}} if chat else {"text": " tok"}
    chunks = [
        event({**named, "choices": [{"index": 0, **said, "finish_reason": None if n < tokens - 1 else "length"}]})
        for n in range(tokens)
    ]
    head = _HEAD % (b"text/event-stream", b"Transfer-Encoding: chunked\r\n")
    return (head + chunks[0], *chunks[1:])


def closing(prompt_tokens: int, tokens: int) -> bytes:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}
    usage |= {"prompt_tokens_details": {"cached_tokens": 0}}
    last = {"id": "cmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": []}
    return event({**last, "usage": usage}) + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"


class Stats:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.requests = self.in_flight = 0
        self.first_s = self.last_s = self.changed_s = 0.0
        self.area = 0.0

    def change(self, by: int) -> None:
        now = time.time()
        if by > 0:
            self.requests += 1
            self.first_s = self.first_s or now
            self.last_s = now
        self.area += self.in_flight * (now - self.changed_s) if self.changed_s else 0.0
        self.changed_s = now
        self.in_flight += by
        if by > 0:
            self.area_at_last = self.area

    def document(self) -> dict[str, float]:
        span = self.last_s - self.first_s
        mean = self.area_at_last / span if span else 0.0
        return {"requests": self.requests, "mean_in_flight": mean, "span_s": span, "first_s": self.first_s}


class Client(asyncio.Protocol):
    def __init__(self, options: argparse.Namespace, stats: Stats, log: TextIO | None) -> None:
        self.options, self.stats, self.log = options, stats, log
        self.got = bytearray()
        self.needed = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, _exc: Exception | None) -> None:
        for task in self.tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self.got += data
        if not self.needed:
            end = self.got.find(b"\r\n\r\n")
            if end < 0:
                return
            length = re.search(rb"(?i)content-length: *(\d+)", self.got[:end])
            self.needed = end + 4 + (int(length[1]) if length else 0)
        if len(self.got) >= self.needed:
            request, self.got, self.needed = bytes(self.got[: self.needed]), self.got[self.needed :], 0
            self.answer(request)

    def answer(self, request: bytes) -> None:
        if not request.startswith(b"POST") or request.startswith(b"POST /reset"):
            if request.startswith(b"POST /reset"):
                self.stats.reset()
            said = self.stats.document() if self.stats.requests and b" /stats" in request[:20] else {"data": []}
            body = orjson.dumps(said)
            self.transport.write(_HEAD % (b"application/json", b"Content-Length: %d\r\n" % len(body)) + body)
            return
        task = asyncio.ensure_future(self.stream(request))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def stream(self, request: bytes) -> None:
        arrived = time.time()
        self.stats.change(1)
        try:
            found = _LENGTH.search(request[-4096:]) or _LENGTH.search(request)
            tokens = max(1, int(found[1]) if found else 16)
            await asyncio.sleep(self.options.ttft)
            chunks = answer(tokens, chat=b"/chat/" in request[:64])
            if self.options.itl:
                for chunk in chunks:
                    self.transport.write(chunk)
                    await asyncio.sleep(self.options.itl)
            else:
                for chunk in chunks:
                    self.transport.write(chunk)
            self.transport.write(closing(max(1, len(request) // 5), tokens))
        finally:
            self.stats.change(-1)
            if self.log:
                self.log.write(f"{arrived} {time.time()} {len(request)}\n")


async def serve(options: argparse.Namespace, log: TextIO | None) -> None:
    stats = Stats()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Client(options, stats, log), "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ttft", type=float, default=0.05)
    parser.add_argument("--itl", type=float, default=0.0)
    parser.add_argument("--log")
    options = parser.parse_args()
    with Path(options.log or os.devnull).open("w", buffering=1) as log:
        asyncio.run(serve(options, log if options.log else None))


if __name__ == "__main__":
    main()
