"""Whether public traces come back equal, straight and through a corpus, and what reading and writing them costs.

CPU seconds, since machines are shared. How fast they become graphs is in `bench_graph`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpus.card import Card
from corpus.formats.bailian import write_bailian
from corpus.formats.dag_jsonl import write_dag_jsonl
from corpus.formats.mooncake import read_mooncake, write_mooncake
from corpus.formats.weka import read_weka, write_weka
from corpus.session import Session
from corpus.tables import read_corpus, write_corpus
from dagbuild.link import link_session

TRACES = Path(__file__).resolve().parents[2] / "shared" / "traces"
LONG = TRACES / "weka" / "trace_0256.json"


def say(bench: str, *, ok: bool, **numbers: Any) -> None:
    print(json.dumps({"bench": bench, **numbers, "target": "equal", "ok": ok}), flush=True)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return work(), round(time.process_time() - began, 2)


def values(path: Path) -> Iterator[Any]:
    if path.is_dir():
        for file in sorted(path.glob("*.json")):
            yield orjson.loads(file.read_bytes())
    else:
        yield from map(orjson.loads, path.read_bytes().splitlines())


def round_trip(
    name: str,
    source: Path,
    read: Callable[[Path], Iterable[Session]],
    write: Callable[..., Any],
    folder: Path,
    back: Path,
) -> None:
    """Source to corpus to the source's own format."""
    sessions, read_s = timed(lambda: list(read(source)))
    _, store_s = timed(lambda: write_corpus(folder / f"{name}.corpus", sessions, Card("bench")))
    stored, load_s = timed(lambda: list(read_corpus(folder / f"{name}.corpus")))
    _, write_s = timed(lambda: write(back, stored))
    pairs = list(zip(values(source), values(back), strict=True))
    equal = sum(one == other for one, other in pairs)
    cpu = {"read_s": read_s, "store_s": store_s, "load_s": load_s, "write_s": write_s}
    packed = sum(file.stat().st_size for file in (folder / f"{name}.corpus").iterdir())
    files = sorted(source.glob("*.json")) if source.is_dir() else [source]
    sizes = {"source_mb": round(sum(f.stat().st_size for f in files) / 1e6, 1), "corpus_mb": round(packed / 1e6, 2)}
    say(f"round_trip_{name}", objects=len(pairs), equal=equal, **sizes, **cpu, ok=0 < equal == len(pairs))


def exports(folder: Path) -> None:
    """What it costs to write the longest public session in each format, and whether all of it goes out."""
    sessions = [link_session(session) for session in read_weka(LONG)]
    writers: dict[str, Callable[..., Any]] = {
        "weka": write_weka,
        "bailian": write_bailian,
        "dag_jsonl": write_dag_jsonl,
    }
    for dialect in ("plain", "sessions", "delta", "agentic"):
        writers[f"mooncake_{dialect}"] = partial(write_mooncake, dialect=dialect)
    for name, write in writers.items():
        path = folder / f"{name}.delta.jsonl"
        written, write_s = timed(partial(write, path, sessions))
        whole = written.requests == len(sessions[0].requests)
        megabytes = round(path.stat().st_size / 1e6, 1)
        say(f"export_{name}", requests=written.requests, mb=megabytes, write_s=write_s, ok=whole)


def main() -> None:
    if not TRACES.is_dir():
        print("skipped: the public traces are not on this machine", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        round_trip("weka", TRACES / "weka", read_weka, write_weka, folder, folder / "weka")
        plain = partial(write_mooncake, dialect="plain")
        for trace in ("conversation", "synthetic"):
            source = TRACES / "mooncake" / f"{trace}_trace.jsonl"
            round_trip(f"mooncake_{trace}", source, read_mooncake, plain, folder, folder / f"{trace}.jsonl")
        exports(folder)


if __name__ == "__main__":
    main()
