"""Run by aiperf's own interpreter: what its code makes of a `profile_export.jsonl`, as one line of JSON.

    python export_reader.py FOLDER

Its record model checks every line, its plot loader makes the table that its plots are drawn from, and its swim-lane
analysis draws the run.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def read(folder: Path) -> dict[str, Any]:
    file = folder / "profile_export.jsonl"
    models: Any = importlib.import_module("aiperf.common.models.record_models")
    records = [models.MetricRecordInfo.model_validate_json(line) for line in file.read_bytes().splitlines()]
    loader: Any = importlib.import_module("aiperf.plot.core.data_loader").DataLoader()
    table = loader._load_jsonl(file)
    table = table[0] if isinstance(table, tuple) else table
    swim_lane: Any = importlib.import_module("aiperf.analysis.swim_lane")
    sessions = swim_lane._group_into_sessions(swim_lane._load_records(file))
    return {
        "records": len(records),
        "phases": sorted({record.metadata.benchmark_phase.value for record in records}),
        "rows": len(table),
        "time_to_first_token": sorted(float(value) for value in table["time_to_first_token"]),
        "sessions": {name: len(turns) for name, turns in sessions.items()},
    }


if __name__ == "__main__":
    print(json.dumps(read(Path(sys.argv[1]))))
