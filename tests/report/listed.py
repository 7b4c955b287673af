"""What a view is once it has travelled, with columns as lists."""

from __future__ import annotations

import json
from typing import Any

from report.packing import Column


def listed(view: object) -> Any:
    return json.loads(json.dumps(view, default=_list))


def _list(column: object) -> list[Any]:
    assert isinstance(column, Column)
    return list(column.values)
