"""The document of a simulation for a terminal: a row a capacity, hits as a bar whose shades are the tiers."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from report.wording import count, share

_WIDTH: Final = 40
# tier, how it is drawn in the bar, and how its name is written
_TIERS: Final = (("hbm", "█", "HBM"), ("dram", "▓", "DRAM"), ("nvme", "░", "NVMe"))


def render_simulation(document: dict[str, Any]) -> RenderableType:
    return Group(_head(document), Text(), _curve(document))


def _head(document: dict[str, Any]) -> Text:
    needed, live = document["capacity_for_share_of_hits"], document["working_set_tokens"]
    ranks = f" on each of {document['ranks']} ranks by {document['routing']}" if document["ranks"] > 1 else ""
    return Text.assemble(
        (f"{count(document['sessions'])} sessions, {count(document['requests'])} requests", "bold"),
        f", {count(document['input_tokens'])} prompt tokens, {count(document['unique_tokens'])} of them new; "
        f"{document['concurrency']} sessions at a time, {document['policy']}{ranks}\n",
        f"without limit {share(document['infinite_hit_rate'])} of the prompt tokens are served; half of that needs "
        f"{count(needed['p50'])} tokens of cache, 90 % {count(needed['p90'])}, 99 % {count(needed['p99'])}, "
        f"all {count(needed['p100'])}\n",
        f"live sessions hold {count(live['p50'])} tokens at half of the requests, {count(live['max'])} at most",
    )


def _curve(document: dict[str, Any]) -> Table:
    shown = [tier for tier in _TIERS if tier[0] == "hbm" or document[f"{tier[0]}_tokens"]]
    names = [f"{glyph} {name}" for _, glyph, name in shown] if len(shown) > 1 else []
    table = Table("capacity", "hits", "(higher is better)", *names, box=None, pad_edge=False)
    for number, column in enumerate(table.columns):
        column.justify = "left" if number == 2 else "right"
    for point in document["capacities"]:
        bar = "".join(glyph * round(_WIDTH * (point["tiers"][tier] or 0)) for tier, glyph, _ in shown)
        shares = [share(point["tiers"][tier]) for tier, _, _ in shown] if names else []
        table.add_row(count(point["capacity_tokens"]), share(point["hit_rate"]), bar, *shares)
    return table
