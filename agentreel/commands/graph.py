from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import click

from agentreel.console import json_option, print_json
from agentreel.source import read_source
from corpus.errors import InputError
from corpus.session import Session
from dagbuild.agentx.graph import agentx_documents
from dagbuild.document import graph_document


@click.command()
@click.argument("src")
@click.option(
    "--compat",
    type=click.Choice(["agentx"]),
    help="Print the streams and branches that agentx-harness 1.0.12 builds instead.",
)
@json_option
def graph(src: str, compat: str | None, as_json: bool) -> None:
    """Print who spawned whom and who waited for whom in SRC, with the evidence of each edge."""
    sessions = read_source(src)
    documents = _agentx(sessions) if compat else [_document(src, session) for session in sessions]
    if as_json:
        print_json(documents)
        return
    for document in documents:
        print_stream(document) if compat else print_graph(document)


def _document(src: str, session: Session) -> dict[str, Any]:
    try:
        return graph_document(session)
    except ValueError as error:
        raise InputError(f"{src}: {session.label}", str(error), "build the corpus again") from error


def _agentx(sessions: Iterable[Session]) -> list[dict[str, Any]]:
    """The reference's order: the roots of all sessions, then everybody else."""
    documents = [agentx_documents(session) for session in sessions]
    return [streams[0] for streams in documents] + [stream for streams in documents for stream in streams[1:]]


def print_graph(document: dict[str, Any]) -> None:
    path = document["critical_path"]
    print(
        f"{document['session']}: {len(document['agents'])} agents, {len(document['streams'])} streams, "
        f"{len(document['requests'])} requests, {document['task_time_us'] / 1e6:.3f} s; the longest chain has "
        f"{len(path['requests'])} requests and takes {path['duration_us'] / 1e6:.3f} s"
    )
    if gaps := _gaps(document["edges"]):
        print(f"  gaps between steps: {gaps}")
    for edge in document["edges"]:
        if edge["kind"] != "sequence":
            print(
                f"  {edge['kind']:<8} {edge['src']:>4} -> {edge['dst']:<4} "
                f"{edge['delay_us'] / 1e6:8.3f} s after {edge['anchor']:<5} by {edge['evidence']}"
            )


def _gaps(edges: Iterable[dict[str, Any]]) -> str:
    """What filled the gaps, the longest together first: "tool 3 (0.4 s), human 1 (0.3 s)"."""
    delays: defaultdict[str, list[int]] = defaultdict(list)
    for edge in edges:
        if edge["kind"] in ("sequence", "retry") and edge["anchor"] == "end":
            delays[edge["cause"] or "not told"].append(edge["delay_us"])
    parts = sorted(delays.items(), key=lambda part: (-sum(part[1]), part[0]))
    return ", ".join(f"{cause} {len(found)} ({sum(found) / 1e6:.3f} s)" for cause, found in parts)


def print_stream(document: dict[str, Any]) -> None:
    print(f"{document['stream']}: {len(document['turns'])} turns")
    joins = {name: number for number, turn in enumerate(document["turns"]) for name in turn["joins"]}
    spawns = {name: number for number, turn in enumerate(document["turns"]) for name in turn["spawns"]}
    for branch in document["branches"]:
        joined = "nobody waits" if branch["background"] else f"turn {joins[branch['id']]} waits"
        print(f"  {branch['id']}: from turn {spawns[branch['id']]}, {len(branch['children'])} streams, {joined}")
