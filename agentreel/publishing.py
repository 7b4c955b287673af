"""A corpus made public, step by step, each of which must succeed before the next begins; uploading is the last.

What is uploaded is made once, in a folder that is kept between tries: the public column of every session, the tables
of the dataset, its card. It is audited in whole, searched for secrets and loaded as a stranger would load it. An upload
that broke off goes on with the same folder: sharing draws at random, and a release must not depend on how often it was
tried.
Nothing here makes a repository public but the step that is named so.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import SystemRandom
from typing import Final

import orjson

from agentreel.auditing import canary_finding, live_findings, run_canaries, scanner_finding
from agentreel.pieces import code_digest
from anonymize.audit.finding import NAMES, Finding
from anonymize.audit.folder import audit_folder, refuse_unless_passed
from anonymize.audit.strings import unlisted_windows
from anonymize.audit.uniqueness import Uniqueness, uniqueness_summary, uniqueness_table
from anonymize.contributions import read_contributions
from anonymize.policy import is_fixed, strings_of
from anonymize.publishing import publish_sessions
from corpus.card import Card
from corpus.dataset.page import Facts, render_page
from corpus.dataset.shards import NATIVE, data_files, write_shards
from corpus.errors import InputError
from corpus.hub import Hub
from corpus.session import Session
from corpus.tables import is_corpus, read_card, read_corpus, write_corpus

_READY: Final = "ready.json"
_BUG: Final = "nothing was uploaded; this is a bug of agentreel"


@dataclass(frozen=True, slots=True)
class Release:
    repo: str
    license: str
    tag: str
    fidelity: str = ""  # a table in Markdown


@dataclass(frozen=True, slots=True)
class Staged:
    folder: Path  # the dataset, as it will stand on the hub
    card: Card
    findings: tuple[Finding, ...]


Say = Callable[[str], None]


def stage_release(corpus: Path, release: Release, home: Path, say: Say = lambda _: None) -> Staged:
    """Everything before the upload, in `home`, which is used again as it is; InputError when an audit fails."""
    if not is_corpus(corpus):
        raise InputError(corpus, "is no corpus", "publish what `agentreel build` made")
    owner = read_card(corpus)
    made_from = _made_from(owner, release)
    folder = home / "dataset"
    if _read_ready(home) != made_from:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(mode=0o700, parents=True)
        say("the public column of every session")
        card = _write_native(corpus, owner, folder / NATIVE)
        say("tables and card")
        uniqueness = Uniqueness()
        write_shards(folder, _measured(read_corpus(folder / NATIVE), uniqueness), release.tag)
        facts = Facts(
            release.repo,
            release.license,
            release.tag,
            _processing(owner, card),
            uniqueness_table(uniqueness),
            release.fidelity,
        )
        (folder / "README.md").write_text(render_page(folder, card, facts))
        (home / _READY).write_bytes(orjson.dumps(made_from))
    else:
        say("found what an earlier try made")
    say("audits and secret scan")
    findings = _audited(corpus, folder)
    say("loading it as a stranger would")
    _load_all(folder)
    return Staged(folder, read_card(folder / NATIVE), tuple(findings))


def upload_release(hub: Hub, staged: Staged, release: Release, *, public: bool, say: Say = lambda _: None) -> str:
    """To a private repository, downloaded again, compared, tagged; public only if asked for. Returns the commit.

    InputError, before anything is sent, for a tag that is taken and for a repository that is public already when
    `public` is not given.
    """
    private = hub.is_private()
    if private is False and not public:
        raise InputError(release.repo, "is public already", "give --public, or another repository")
    if private is not None and release.tag in hub.tags():
        raise InputError(release.repo, f"has a release {release.tag}", "releases never change: choose another --tag")
    say(f"uploading to {release.repo}" + ("" if private is False else " (private)"))
    hub.create()
    commit = hub.upload(staged.folder, f"Release {release.tag}")
    say("downloading it again to compare")
    _compare(hub, staged.folder, commit)
    hub.tag(release.tag, commit)
    if public and private is not False:
        say("making it public")
        hub.make_public()
    return commit


def _write_native(corpus: Path, owner: Card, target: Path) -> Card:
    """The corpus as it leaves; refused when it fails a quick audit."""
    known = read_contributions(corpus, owner.fingerprint)
    sessions = publish_sessions(lambda: read_corpus(corpus), known, SystemRandom())
    card = replace(owner, policy="public", rejected={}, calibration=None)
    return write_corpus(target, sessions, card, approve=refuse_unless_passed)


def _measured(sessions: Iterator[Session], uniqueness: Uniqueness) -> Iterator[Session]:
    for session in sessions:
        uniqueness.add(session)
        yield session


def _processing(owner: Card, public: Card) -> list[tuple[str, str]]:
    """Every exchange that was heard, by what became of it."""
    kept, left = owner.counts["requests"], public.counts["requests"]
    rows = [("requests heard", str(kept + sum(owner.rejected.values())))]
    rows += [(f"left out: {name.replace('_', ' ')}", str(n)) for name, n in sorted(owner.rejected.items())]
    if kept != left:
        rows.append(("left out: sessions of a single request", str(kept - left)))
    return [("what", "count"), *rows, ("in this release", str(left))]


def _audited(corpus: Path, folder: Path) -> list[Finding]:
    """All fourteen tests, of what is about to leave; InputError, and nothing leaves, when one fails."""
    uniqueness = Uniqueness()
    findings = audit_folder(folder / NATIVE, uniqueness)
    findings += live_findings(corpus)
    findings.append(canary_finding(run_canaries))
    findings.append(_window_finding(folder / NATIVE))
    findings.append(Finding("T10", ok=True, detail=uniqueness_summary(uniqueness)))
    findings.append(scanner_finding(folder))
    missing = NAMES.keys() - {finding.id for finding in findings}
    failed = [finding for finding in findings if not finding.ok]
    if missing or failed:
        told = "; ".join(f"{one.id} failed: {one.name}: {one.detail}" for one in failed)
        raise InputError(corpus, f"audit {told or f'{min(missing)} did not run'}", _BUG)
    return sorted(findings, key=lambda finding: list(NAMES).index(finding.id))


def _window_finding(native: Path) -> Finding:
    """No captures are at hand, so no string may be there that they would have to be asked about."""
    records = (read_card(native), *read_corpus(native))
    strings = (text for one in records for name, text in strings_of(one) if not is_fixed(name, text))
    count = len(unlisted_windows(strings))
    return Finding("T6", not count, f"{count} stretches of unlisted strings")


def _load_all(folder: Path) -> None:
    """Every config, through the `datasets` library, from a cache that goes with it."""
    from datasets import load_dataset

    with tempfile.TemporaryDirectory(prefix="agentreel-load-") as cache, _quiet():
        for config in data_files(folder):
            try:
                loaded = load_dataset(str(folder), config, split="train", cache_dir=cache)
            except Exception as error:  # whatever it raises, a stranger would see it
                problem = f"config {config} does not load ({type(error).__name__})"
                raise InputError(folder, problem, _BUG) from error
            if not loaded.num_rows and config in ("requests", "sessions"):
                raise InputError(folder, f"config {config} is empty", _BUG)


def _compare(hub: Hub, folder: Path, commit: str) -> None:
    with tempfile.TemporaryDirectory(prefix="agentreel-compare-") as scratch, _quiet():
        there = _contents(hub.download(Path(scratch) / "there", revision=commit))
        here = _contents(folder)
        odd = sorted(name for name in there.keys() | here.keys() if there.get(name) != here.get(name))
    if odd:
        raise InputError(hub.repo, f"holds other bytes than were sent ({odd[0]})", "it was not tagged; publish again")


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith((".cache/", ".git"))}


def _made_from(owner: Card, release: Release) -> dict[str, object]:
    return {"corpus": owner.fingerprint, "code": code_digest(), "release": asdict(release)}


def _read_ready(home: Path) -> object:
    try:
        return orjson.loads((home / _READY).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's own bars: the steps are told by us."""
    from datasets import disable_progress_bars, enable_progress_bars

    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
