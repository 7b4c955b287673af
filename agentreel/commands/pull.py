from __future__ import annotations

from pathlib import Path

import click

from agentreel.console import force_option


@click.command()
@click.argument("name", metavar="ORG/NAME[@REVISION]")
@click.argument("dst", type=click.Path(path_type=Path))
@force_option
def pull(name: str, dst: Path, force: bool) -> None:
    """Bring a dataset from the hub to DST as a corpus: one that agentreel published, or one in the WEKA format.

    Without a revision the newest is taken. Private ones need HF_TOKEN.
    """
    from agentreel.hub_source import pull_dataset

    card = pull_dataset(name, dst, force=force)
    print(f"{dst}: " + ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in card.counts.items()))
