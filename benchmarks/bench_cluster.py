"""Building on a Dask cluster beside local worker processes, and whether a worker's memory grows with the corpus.

Throughput: the same captures, two workers each, turn about, sessions a second between the first and the last that were
done, so that neither starting processes nor loading tokenizers counts. Memory: 2,000 sessions of one size (the longest
go first, which would hide a leak), the workers' memory sampled all the while, the 500th session against the last ones.
"""

from __future__ import annotations

import json
import logging
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import batched
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentreel import __version__
from agentreel.building import BuildSettings, Done, build_corpus
from agentreel.cluster import DaskCluster
from agentreel.workers import Outcome, Runner, WorkerProcesses
from benchmarks.conversations import Texts, converse, exchange_of
from corpus.capture.reader import Captures, open_captures
from corpus.capture.writer import CaptureWriter
from corpus.exchange import Identity
from corpus.tokenizer import DEFAULT_TOKENIZER

WORKERS: Final = 2
SESSIONS, TURNS, RESULT_SIZE = 60, 10, 4_000  # for throughput
MANY, FEW_TURNS, SMALL = 2_000, 2, 500  # for memory
ROUNDS: Final = 3
SETTLED: Final = 500  # sessions
SAMPLE_EVERY_S: Final = 0.2
TARGET_RATIO: Final = 0.8
TARGET_GROWTH: Final = 0.05
US: Final = f"agentreel {__version__}"
SETTINGS: Final = BuildSettings(DEFAULT_TOKENIZER, 64, 990_000, keep_aux=False)


def write_captures(folder: Path, sessions: int, turns: int, result_size: int) -> Captures:
    """`sessions` of `turns` requests each."""
    writer, texts = CaptureWriter(folder, "bench"), Texts(5)
    talks = ((f"s{n:05d}", converse(texts, turns, result_size)) for n in range(sessions))
    number = 0
    for name, talk in talks:
        identity = Identity(session_id=name, purpose="turn", harness="claude-code", harness_version="2.1.328")
        for body, turn in zip(talk.bodies("claude-opus-5-5"), talk.turns, strict=True):
            usage = {"input_tokens": 1_000, "output_tokens": 100}
            one = exchange_of(number, body, turn.answer, usage, identity)
            assert one.response is not None
            writer.write_request(one.request)
            writer.write_response(name, one.response)
            number += 1
    writer.close()
    return open_captures(folder)


class Watch:
    """When each session was done, and the memory of the workers at that moment's last sample."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.memory: list[float] = []  # MB of the largest worker, parallel

    def __call__(self, outcomes: Iterable[Outcome[Done]], _: int) -> Iterator[Outcome[Done]]:
        for outcome in outcomes:
            assert outcome.result is not None, outcome.failure
            self.times.append(time.perf_counter())
            self.memory.append(self.largest_mb)
            yield outcome

    @property
    def sessions_per_s(self) -> float:
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])

    largest_mb = 0.0

    @contextmanager
    def sampling(self, others: set[int]) -> Iterator[None]:
        """Of all child processes but `others`."""
        stop = threading.Event()

        def sample() -> None:
            while not stop.wait(SAMPLE_EVERY_S):
                self.largest_mb = max(map(rss_mb, child_pids() - others), default=0.0)

        thread = threading.Thread(target=sample)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def child_pids() -> set[int]:
    found: set[int] = set()
    for file in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            found.update(map(int, file.read_text().split()))
    return found


def rss_mb(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:  # it has ended
        return 0.0


def build(captures: Captures, runner: Runner, watch: Watch, folder: Path) -> float:
    """Seconds of the whole build."""
    began = time.perf_counter()
    build_corpus(captures, folder / f"corpus{time.monotonic_ns()}", SETTINGS, runner, created_by=US, watch=watch)
    return time.perf_counter() - began


def compare(folder: Path, cluster: Any) -> dict[str, Any]:
    captures = write_captures(folder / "captures", SESSIONS, TURNS, RESULT_SIZE)
    build(captures, DaskCluster(cluster.scheduler_address), Watch(), folder)  # tokenizers are loaded
    rates: dict[str, list[float]] = {"local": [], "dask": []}
    for _ in range(ROUNDS):
        for name, runner in (("local", WorkerProcesses(WORKERS)), ("dask", DaskCluster(cluster.scheduler_address))):
            watch = Watch()
            build(captures, runner, watch, folder)
            rates[name].append(watch.sessions_per_s)
    local, dask = (statistics.median(rates[name]) for name in ("local", "dask"))
    return {
        "bench": "cluster_throughput",
        "sessions": SESSIONS,
        "requests": SESSIONS * TURNS,
        "local_sessions_per_s": round(local, 2),
        "dask_sessions_per_s": round(dask, 2),
        "ratio": round(dask / local, 2),
        "ratios": [round(d / own, 2) for d, own in zip(rates["dask"], rates["local"], strict=True)],
        "target": f"ratio >= {TARGET_RATIO}",
        "ok": dask >= TARGET_RATIO * local,
    }


def measure(captures: Captures, name: str, runner: Runner, others: set[int], folder: Path) -> dict[str, Any]:
    watch = Watch()
    with watch.sampling(others):
        spent = build(captures, runner, watch, folder)
    settled = statistics.median(watch.memory[SETTLED - 50 : SETTLED + 50])
    last = statistics.median(watch.memory[-100:])
    growth = last / settled - 1
    return {
        "bench": f"cluster_memory_{name}",
        "sessions": len(watch.times),
        "build_s": round(spent, 1),
        "sessions_per_s": round(watch.sessions_per_s, 1),
        "mb_a_worker": [round(max(part)) for part in batched(watch.memory, max(len(watch.memory) // 8, 1))],
        "mb_at_500": round(settled),
        "mb_at_end": round(last),
        "growth": round(growth, 3),
        "target": f"growth <= {TARGET_GROWTH}",
        "ok": growth <= TARGET_GROWTH,
    }


def main() -> None:
    try:
        from distributed import LocalCluster
    except ImportError:
        print("skipped: the extra `dask` is not installed", file=sys.stderr)
        return
    logging.getLogger("distributed").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = write_captures(folder / "many", MANY, FEW_TURNS, SMALL)
        others = child_pids()
        with LocalCluster(n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
            print(json.dumps(compare(folder, cluster)), flush=True)
            print(json.dumps(measure(many, "dask", DaskCluster(cluster.scheduler_address), others, folder)), flush=True)
        print(json.dumps(measure(many, "local", WorkerProcesses(WORKERS), others, folder)), flush=True)


if __name__ == "__main__":
    main()
