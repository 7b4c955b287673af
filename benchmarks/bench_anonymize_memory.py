"""Peak memory of building a corpus from one session of 1,000 turns that grows to a million tokens.

The captures are written by the recorder's own writer; the build is the command itself, in a process of its own, without
worker processes. Its peak includes the interpreter, the tokenizer and the capture reader.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.conversations import Texts, converse, exchange_of
from corpus.capture.writer import CaptureWriter
from corpus.exchange import Identity

TURNS, RESULT_SIZE = 1_000, 2_050
TARGET_MB: Final = 600
BUILD: Final = ("-m", "agentreel", "build", "--workers", "0", "--max-input-tokens", "2000000", "--json")


def write_captures(folder: Path) -> int:
    """Bytes of all request bodies."""
    identity = Identity(session_id="s", purpose="turn", harness="claude-code", harness_version="2.1.328")
    talk = converse(Texts(3), TURNS, RESULT_SIZE)
    writer, total = CaptureWriter(folder, "bench"), 0
    for number, (body, turn) in enumerate(zip(talk.bodies("claude-opus-5-5"), talk.turns, strict=True)):
        usage = {"input_tokens": 1_000, "output_tokens": 100}
        one = exchange_of(number, body, turn.answer, usage, identity)
        assert one.response is not None
        writer.write_request(one.request)
        writer.write_response("s", one.response)
        total += one.request.body_bytes
    writer.close()
    return total


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        total = write_captures(folder / "captures")
        command = [sys.executable, *BUILD, str(folder / "captures"), str(folder / "corpus")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        stats = [sys.executable, "-m", "agentreel", "stats", str(folder / "corpus"), "--json"]
        longest = json.loads(subprocess.run(stats, capture_output=True, text=True, check=True).stdout)["input_tokens"]
    line = {
        "bench": "anonymize_memory",
        "requests": json.loads(done.stdout)["counts"]["requests"],
        "body_bytes": total,
        "longest_prompt_tokens": longest["max"],
        "peak_mb": round(peak_mb),
        "target": f"peak_mb <= {TARGET_MB}",
        "ok": peak_mb <= TARGET_MB,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
