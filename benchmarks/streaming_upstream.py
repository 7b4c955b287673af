"""A model API that answers every POST with a stream of events, as fast or slow as told: EVENTS GAP_SECONDS.

With two more arguments, files of a certificate and its key, it speaks TLS, as providers do.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys

EVENTS, GAP_S = int(sys.argv[1]), float(sys.argv[2])
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(name: str, **fields: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode()


def delta(number: int) -> bytes:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": f"word {number} "})


USAGE = {"input_tokens": 5, "output_tokens": 1}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
START = event("message_start", message=MESSAGE)
START += event("content_block_start", index=0, content_block={"type": "text", "text": ""})
STOP = event("content_block_stop", index=0)
STOP += event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 9}) + event("message_stop")
DELTAS = [chunk(delta(number)) for number in range(EVENTS)]


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0))
            writer.write(HEAD + chunk(START))
            for piece in DELTAS:
                writer.write(piece)
                await writer.drain()
                if GAP_S:
                    await asyncio.sleep(GAP_S)
            writer.write(chunk(STOP) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    secure = None
    if len(sys.argv) > 3:
        secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        secure.load_cert_chain(*sys.argv[3:])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024, ssl=secure)
    print(f"http{'s' if secure else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
