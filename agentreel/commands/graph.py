from __future__ import annotations

import click

from agentreel.console import json_option, print_json
from agentreel.source import read_source
from dagbuild.document import graph_document


@click.command()
@click.argument("src")
@json_option
def graph(src: str, as_json: bool) -> None:
    """Print who spawned whom and who waited for whom in SRC, with the evidence of each edge."""
    documents = [graph_document(session) for session in read_source(src)]
    if as_json:
        print_json(documents)
        return
    for document in documents:
        print(f"{document['session']}: {len(document['agents'])} agents, {len(document['requests'])} requests")
        for edge in document["edges"]:
            if edge["kind"] != "sequence":
                print(
                    f"  {edge['kind']:<8} {edge['src']:>4} -> {edge['dst']:<4} "
                    f"{edge['delay_us'] / 1e6:8.3f} s after {edge['anchor']:<5} by {edge['evidence']}"
                )
