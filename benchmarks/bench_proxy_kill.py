"""kill -9 at random points under load: what the captures still hold.

Clients note when each of their exchanges began to be answered and when it ended. Every one that ended more than 200 ms
before the kill must be there, whole; every one that was being answered by then, and whose end the client never saw,
must be there with the end `unknown`.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

from rig import Client, body_of, recorder, report, texts, upstream

from corpus.capture.reader import open_captures

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
CLIENTS = 6
SAFE_S = 0.2
SEED = 42


def main() -> None:
    choice = random.Random(SEED)
    lost = torn = missing = checked = flying = 0
    with upstream(30, 0.02) as url:
        for _ in range(KILLS):
            with tempfile.TemporaryDirectory() as folder:
                result = one_kill(url, Path(folder) / "captures", choice.uniform(0.5, 2.0))
            lost, torn, missing = lost + result[0], torn + result[1], missing + result[2]
            checked, flying = checked + result[3], flying + result[4]
    ok = lost == torn == missing == 0 and checked > 0 and flying > 0
    numbers = {"kills": KILLS, "ended_and_checked": checked, "in_flight_checked": flying}
    numbers |= {"lost": lost, "not_whole": torn, "in_flight_missing_or_misjudged": missing}
    report("proxy_kill_9", "0 lost of those that ended 200 ms before; in flight: unknown", ok=ok, **numbers)


def one_kill(url: str, captures: Path, after_s: float) -> tuple[int, int, int, int, int]:
    """Lost, not whole, in flight but not unknown; and how many of each were looked at."""
    ended: dict[str, float] = {}
    begun: dict[str, float] = {}
    stop = threading.Event()
    with recorder(url, captures) as proxy:
        clients = [threading.Thread(target=ask, args=(proxy.url, n, begun, ended, stop)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(after_s)
        os.kill(proxy.pid, signal.SIGKILL)
        killed = time.monotonic()
        stop.set()
        for client in clients:
            client.join()
    found = {e.request.body[-40:-4].decode("latin-1"): e for e in open_captures(captures).exchanges()}
    tag = {name: next((e for key, e in found.items() if f"<{name}>" in key), None) for name in begun}
    safe = [name for name, at in ended.items() if at < killed - SAFE_S]
    lost = sum(tag[name] is None for name in safe)
    torn = sum(tag[name] is not None and tag[name].end != "complete" for name in safe)
    flying = [name for name, at in begun.items() if at < killed - SAFE_S and name not in ended]
    wrong = sum(tag[name] is None or tag[name].end != "unknown" for name in flying)
    return lost, torn, wrong, len(safe), len(flying)


def ask(url: str, number: int, begun: dict[str, float], ended: dict[str, float], stop: threading.Event) -> None:
    pieces = texts(30_000, start=number * 1000)
    with contextlib.suppress(OSError):
        client = Client(url)
        for turn in range(10_000):
            name = f"{number}-{turn}"
            body = body_of([{"role": "user", "content": f"{next(pieces)} <{name}>"}])
            begun[name] = float("inf")
            client.ask(body, f"session-{number}", lambda name=name: begun.update({name: time.monotonic()}))
            ended[name] = time.monotonic()
            if stop.is_set():
                return


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    main()
