"""200 streams of 25 events a second with bodies of 600 KB, through one worker: errors, drops, share of a core."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rig import ROOT, address, growing_session, recorder, report, request, upstream

sys.path.insert(0, str(ROOT))

from corpus.capture.reader import open_captures
from tests.proxy.certificates import make_authority, server_files

STREAMS = 200
EVENTS, GAP_S = 250, 0.04  # ten seconds
SPREAD_S = 4.0  # over which the streams start: agents do not all ask in the same instant


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        authority = make_authority(Path(folder))
        with upstream(EVENTS, GAP_S) as url:
            report("proxy_200_streams", "0 errors, 0 drops, under 0.6 of a core", **measure(url))
        with upstream(EVENTS, GAP_S, *map(str, server_files(authority.parent))) as url:
            numbers = measure(url, SSL_CERT_FILE=str(authority)) | {"ok": None}
            report("proxy_200_streams_over_tls", "beside it: what TLS to the provider takes", **numbers)


def measure(url: str, **environment: str) -> dict[str, Any]:
    body = next(growing_session(600_000))
    with tempfile.TemporaryDirectory() as folder:
        captures = Path(folder) / "captures"
        with recorder(url, captures, **environment) as proxy:
            asyncio.run(all_streams(proxy.url, body, 1, 0.0))
            cpu_s, began = proxy.cpu_s(), time.monotonic()
            problems = asyncio.run(all_streams(proxy.url, body, STREAMS, SPREAD_S))
            wall_s = time.monotonic() - began
            # of the time the streams ask for: a starved machine takes longer, which must not count as idle
            share = (proxy.cpu_s() - cpu_s) / (SPREAD_S + EVENTS * GAP_S)
            rss_mb = proxy.rss_bytes() / 1e6
        exchanges = list(open_captures(captures).exchanges(bodies=False))
    whole = sum(e.end == "complete" and e.request.body_bytes == len(body) for e in exchanges)
    dropped = STREAMS + 1 - whole
    return {
        "ok": problems == 0 and dropped == 0 and share < 0.6,
        "core_share": round(share, 2),
        "errors": problems,
        "drops": dropped,
        "streams": STREAMS,
        "wall_s": round(wall_s, 1),
        "rss_mb": round(rss_mb),
    }


async def all_streams(url: str, body: bytes, number: int, spread_s: float) -> int:
    """How many failed."""
    done = await asyncio.gather(*(stream(url, body, n, spread_s * n / number) for n in range(number)))
    return done.count(False)


async def stream(url: str, body: bytes, number: int, wait_s: float) -> bool:
    await asyncio.sleep(wait_s)
    try:
        reader, writer = await asyncio.open_connection(*address(url))
        writer.write(request(body, f"session-{number}"))
        await writer.drain()
        events, tail = 0, b""
        while not tail.endswith(b"0\r\n\r\n"):
            piece = await reader.read(1 << 16)
            if not piece:
                return False
            events += piece.count(b"event: content_block_delta")
            tail = (tail + piece)[-16:]
        writer.close()
    except OSError:
        return False
    return events >= EVENTS - 2  # a name may fall into two reads


if __name__ == "__main__":
    main()
