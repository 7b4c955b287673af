from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentreel.console import counted, json_option, print_json
from agentreel.places import InputPlace

if TYPE_CHECKING:
    from anonymize.audit.finding import Finding


@click.command()
@click.argument("corpus", type=InputPlace())
@click.option(
    "--against",
    "captures",
    type=InputPlace(),
    required=True,
    metavar="CAPTURES",
    help="The captures that CORPUS was built from.",
)
@json_option
def audit(corpus: Path, captures: Path, as_json: bool) -> int:
    """Prove that CORPUS says nothing that it should not: fourteen tests, T1 to T14; exit code 1 when one fails.

    Tests that need a session's key ran while CORPUS was built and are reported from its card.
    """
    from agentreel.auditing import audit_corpus
    from corpus.capture.reader import open_captures

    findings = audit_corpus(corpus, open_captures(captures), _watched)
    ok = all(finding.ok for finding in findings)
    if as_json:
        tests = [{"id": one.id, "name": one.name, "ok": one.ok, "detail": one.detail} for one in findings]
        print_json({"ok": ok, "tests": tests})
    else:
        for one in findings:
            print(f"{'ok    ' if one.ok else 'FAILED'} {one.id:>3}  {one.name}: {one.detail}")
    return 0 if ok else 1


def _watched(findings: Iterator[Finding], total: int) -> Iterator[Finding]:
    return counted("auditing", findings, total)
