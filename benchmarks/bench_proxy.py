"""CPU a request and first byte added: the recorder against a bare mitmproxy tee and claude-tap, one run, same upstream.

One agent's session over one connection: request bodies of 600 KB (and 4 MB) that repeat their history, answers of 60
events. The programs take turns, so that a busy machine is busy for all of them.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path

from rig import Client, Proxy, bare_tee, claude_tap, growing_session, median, recorder, report, upstream

EVENTS, GAP_S = 60, 0.004
ROUNDS = 4


def main() -> None:
    for name, start_bytes, requests in (("600 KB", 600_000, 15), ("4 MB", 4_000_000, 6)):
        with upstream(EVENTS, GAP_S) as url, tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            home = Path(folder)
            proxies = [
                stack.enter_context(bare_tee(url)),
                stack.enter_context(recorder(url, home / "captures")),
                stack.enter_context(claude_tap(url, home)),
            ]
            present = [proxy for proxy in proxies if proxy is not None]
            measure(name, url, present, start_bytes, requests)


def measure(name: str, url: str, proxies: list[Proxy], start_bytes: int, requests: int) -> None:
    direct: list[float] = []
    first: dict[str, list[float]] = {proxy.name: [] for proxy in proxies}
    cpu_s = dict.fromkeys(first, 0.0)
    bodies = {label: growing_session(start_bytes) for label in ("direct", *first)}
    clients = {"direct": Client(url)} | {proxy.name: Client(proxy.url) for proxy in proxies}
    for proxy in proxies:  # imports, connections, the first frame
        clients[proxy.name].ask(next(bodies[proxy.name]), "bench")
    for turn in range(ROUNDS):
        direct += [clients["direct"].ask(next(bodies["direct"]), "bench") for _ in range(requests)]
        for proxy in proxies if turn % 2 == 0 else reversed(proxies):
            before = proxy.cpu_s()
            for _ in range(requests):
                first[proxy.name].append(clients[proxy.name].ask(next(bodies[proxy.name]), "bench"))
            time.sleep(0.5)  # what is written behind the traffic's back counts too
            cpu_s[proxy.name] += proxy.cpu_s() - before
    tell(name, direct, first, {key: value / (ROUNDS * requests) for key, value in cpu_s.items()})


def tell(name: str, direct: list[float], first: dict[str, list[float]], cpu_s: dict[str, float]) -> None:
    added = {key: (median(values) - median(direct)) * 1e3 for key, values in first.items()}
    numbers: dict[str, object] = {"body": name}
    numbers |= {f"cpu_ms_{key}": round(value * 1e3, 1) for key, value in cpu_s.items()}
    numbers |= {f"first_byte_added_ms_{key}": round(value, 1) for key, value in added.items()}
    ours, tap = cpu_s["agentreel"], cpu_s.get("claude-tap")
    if name == "600 KB":
        over_bare = ours / cpu_s["bare"]
        report("proxy_cpu_over_bare_tee", "<= 1.25", ok=over_bare <= 1.25, ratio=round(over_bare, 2), **numbers)
    if tap is None:
        report(
            "proxy_over_claude_tap", "0.75 / 0.25 / 0.15", ok=None, skipped="claude-tap cannot be installed", **numbers
        )
        return
    limit = 0.75 if name == "600 KB" else 0.25
    report("proxy_cpu_over_claude_tap", f"<= {limit}", ok=ours / tap <= limit, ratio=round(ours / tap, 2), **numbers)
    over = added["agentreel"] / added["claude-tap"]
    report("proxy_first_byte_over_claude_tap", "<= 0.15", ok=over <= 0.15, ratio=round(over, 2), **numbers)


if __name__ == "__main__":
    main()
