from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import click

from agentreel.console import json_option, note, print_json
from agentreel.places import local_input, work_place

_LICENSES = ("apache-2.0", "cc-by-4.0", "cc-by-sa-4.0", "cc0-1.0", "odc-by", "cdla-permissive-2.0", "mit", "other")


@click.command()
@click.argument("corpus")
@click.option("--repo", required=True, metavar="ORG/NAME", help="Dataset repository on the hub; made private if new.")
@click.option("--license", "license_", required=True, type=click.Choice(_LICENSES), help="Licence of the dataset.")
@click.option("--tag", metavar="X", help="Name of the release, which never changes. [default: today's date]")
@click.option("--public", is_flag=True, help="Make the repository public when all else is done.")
@click.option("--dry-run", is_flag=True, help="Everything but the upload; says where the finished dataset lies.")
@click.option(
    "--calibration",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What `calibrate -o` wrote: its report becomes the table of how true the lengths are.",
)
@json_option
def publish(
    corpus: str,
    repo: str,
    license_: str,
    tag: str | None,
    public: bool,
    dry_run: bool,
    calibration: Path | None,
    as_json: bool,
) -> None:
    """Publish CORPUS as a dataset: coarser than the owner's, audited, to a private repository.

    Applies the public column of the policy (docs/privacy.md), audits all of it, searches it for secrets, loads it as a
    stranger would, uploads it, downloads it again to compare, and tags it. Needs HF_TOKEN. Broken off, it goes on.
    """
    from agentreel.publishing import Release, stage_release, upload_release
    from anonymize.fidelity import fidelity_table
    from corpus.hub import Hub, require_token

    hub = Hub(repo)
    if not dry_run:
        require_token()
    fidelity = fidelity_table(calibration) if calibration else ""
    release = Release(repo, license_, tag or datetime.now(UTC).strftime("%Y-%m-%d"), fidelity)
    home = work_place(corpus, "publish")
    staged = stage_release(local_input(corpus), release, home, note)
    said: dict[str, object] = {"repo": repo, "tag": release.tag, "counts": staged.card.counts}
    said["fingerprint"] = staged.card.fingerprint
    if dry_run:
        said |= {"folder": str(staged.folder), "uploaded": False}
    else:
        commit = upload_release(hub, staged, release, public=public, say=note)
        shutil.rmtree(home)
        said |= {"commit": commit, "uploaded": True, "public": public}
    if as_json:
        print_json(said)
        return
    for finding in staged.findings:
        print(f"ok {finding.id:>6}  {finding.name}: {finding.detail}")
    counts = ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in staged.card.counts.items())
    where = f"{staged.folder} (not uploaded)" if dry_run else f"{repo}, release {release.tag}"
    print(f"{where}: {counts}")
    if not dry_run:
        print(f'  load_dataset("{repo}", revision="{release.tag}")' + ("" if public else ", for those whom you let in"))
