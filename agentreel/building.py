"""Captures to a corpus: one idempotent task per session, then all pieces in the order of the captures.

A task reads its session, anonymizes and links it, audits it where it was drawn for that, and writes one piece with a
manifest; run again, it finds its piece and does nothing. Tasks know nothing of each other, so who runs them, how many
at once and in which order changes no byte of the corpus (`agentreel.workers`). The session's key lives while its task
runs and is in nothing that the task writes, which the task checks.

The live audit costs a second pass, so a sample bears it: one session in sixteen, at least four, drawn by a digest of
the session's id; only the search for the key is done for all. What came of it is on the card.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import orjson

from agentreel.families import family_exchanges, session_families
from agentreel.pieces import (
    Manifest,
    Piece,
    code_digest,
    common_key,
    digest_files,
    piece_bytes,
    piece_path,
    read_piece,
    work_folder,
    write_piece,
)
from agentreel.workers import Outcome, Runner
from anonymize.audit.folder import refuse_unless_passed
from anonymize.audit.live import LIVE, MakeChains, audit_live, key_shows
from anonymize.calibration_file import read_calibration
from anonymize.contributions import HeadNumbers, write_contributions
from anonymize.digests import KEY_BYTES
from anonymize.heads import Contributor, MarkingChains
from anonymize.policy import check_record
from anonymize.session import Anonymized, anonymize_session
from corpus.capture.directory import segment_files, segments_by_stem, session_stem
from corpus.capture.reader import Captures, open_captures
from corpus.card import Card
from corpus.errors import AgentreelError, InputError
from corpus.exchange import Exchange
from corpus.output import refuse_existing
from corpus.session import Session
from corpus.tables import is_corpus, write_corpus
from corpus.tokenizer import Tokenizer, load_tokenizer
from dagbuild.link import link_session

_AUDITED_SHARE: Final = 16
_AUDITED_LEAST: Final = 4


@dataclass(frozen=True, slots=True)
class BuildSettings:
    tokenizer: str  # name or file
    block_size: int
    max_input_tokens: int
    keep_aux: bool
    calibration: Path | None = None  # lengths as the provider counts


@dataclass(frozen=True, slots=True)
class SessionTask:
    """All that a worker needs, wherever it runs; the captures and the folder must be in its reach."""

    captures: Path
    folder: Path  # of the pieces
    session_ids: tuple[str | None, ...]
    settings: BuildSettings
    code: str  # digest of it
    audited: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What a task reports: counts and names, no digest of anything that was read; its piece is in its file."""

    tokenizer: str  # name
    tokenizer_sha256: str
    requests: int
    found: bool  # the piece was there already
    failed_audits: tuple[str, ...]


@dataclass(slots=True)
class BuildReport:
    """Filled while a corpus is built; complete afterwards."""

    sessions: int = 0  # of the corpus to be: families of the captures
    resumed: int = 0  # of them those whose pieces were found
    rejected: Counter[str] = field(default_factory=Counter)
    damage: list[tuple[str, int, str]] = field(default_factory=list)  # file, offset, problem
    poison: list[tuple[str, str]] = field(default_factory=list)  # session as the client named it, why it failed


def build_corpus(
    captures: Captures,
    target: Path,
    settings: BuildSettings,
    runner: Runner,
    *,
    created_by: str,
    force: bool = False,
    watch: Callable[[Iterable[Outcome[Done]], int], Iterable[Outcome[Done]]] = lambda outcomes, _: outcomes,
) -> tuple[Card, BuildReport]:
    """Write the corpus, or nothing when an audit fails or no request is left. `watch` sees outcomes as they come."""
    refuse_existing(target, force=force, replaceable=is_corpus)
    with work_folder(target) as folder:
        tasks = session_tasks(captures, folder, settings)
        report = BuildReport(sessions=len(tasks))
        done: dict[int, Done] = {}
        sizes = _captured_bytes(tasks, captures.path)
        by_size = sorted(range(len(tasks)), key=lambda number: -sizes[number])
        outcomes = runner.run(make_piece, [tasks[number] for number in by_size])
        for outcome in watch(outcomes, len(tasks)):
            number = by_size[outcome.task]
            if outcome.result is None:
                report.poison.append((tasks[number].session_ids[0] or "without an id", outcome.failure))
                report.rejected["poison_session"] += _count_exchanges(captures, tasks[number])
            else:
                done[number] = outcome.result
                report.resumed += outcome.result.found
        _refuse_failed(target, done.values())
        card = merge_pieces(target, tasks, done, settings, created_by, captures=captures, report=report, force=force)
    return card, report


def session_tasks(captures: Captures, folder: Path, settings: BuildSettings) -> list[SessionTask]:
    """By the time of their first record; drawn for the live audit by digest, so that no order changes the draw."""
    families = session_families(captures)
    ids = [family[0] for family in families]
    drawn = sorted(ids, key=_draw)[: max(_AUDITED_LEAST, -(-len(ids) // _AUDITED_SHARE))]
    code = code_digest()
    return [
        SessionTask(captures.path, folder, family, settings, code, audited=family[0] in drawn) for family in families
    ]


def make_piece(task: SessionTask) -> Done:
    """The whole work of one task; finds its piece or writes it. InputError when nothing can be built at all."""
    _refuse_elsewhere(task)
    tokenizer = load_tokenizer(task.settings.tokenizer)
    manifest = Manifest(digest_files(_files(task)), task.code, _config_digest(task, tokenizer))
    path = piece_path(task.folder, task.session_ids)
    piece = read_piece(path, manifest)
    found = piece is not None
    if piece is None:
        piece = _make_piece(task, tokenizer, manifest, path)
    failed = tuple(test for test, ok in piece.audit.items() if not ok)
    requests = len(piece.session.requests) if piece.session else 0
    return Done(tokenizer.name, tokenizer.sha256, requests, found, failed)


def _refuse_elsewhere(task: SessionTask) -> None:
    """A worker on another machine must have the same code, and see the same disk."""
    if code_digest() != task.code:
        raise AgentreelError("a worker runs another version of agentreel; install the same one everywhere")
    if not task.folder.is_dir():
        problem = "is not there on a worker"
        raise InputError(task.folder, problem, "build into a folder that all workers share, and reach by the same path")


def _make_piece(task: SessionTask, tokenizer: Tokenizer, manifest: Manifest, path: Path) -> Piece:
    captures = open_captures(task.captures)  # anew: a worker may outlive them, and what it knew of them
    key, common = secrets.token_bytes(KEY_BYTES), common_key(task.folder)
    marking, contributor = MarkingChains(common), Contributor()
    made = _anonymized(captures, task, tokenizer, key, marking, contributor.heard)
    audit: dict[str, bool] = {}
    session = made.session
    if session is not None and task.audited:

        def again(*, tokenizer: Tokenizer, key: bytes, chains: MakeChains) -> Session | None:
            return _anonymized(captures, task, tokenizer, key, chains).session

        audit = audit_live(session, again, tokenizer)
    if session is not None:
        session = link_session(session)
        check_record(session)
    names = set(map(str, _files(task)))
    damage = tuple((one.file, one.offset, one.problem) for one in captures.damage if one.file in names)
    rejected = dict(sorted(made.rejected.items()))
    head = None if session is None else marking.head(contributor)
    piece = Piece(manifest, rejected, audit | {"T14": True}, damage, session, head)
    plain = piece_bytes(piece)
    written = (plain, write_piece(path, plain))
    if key_shows(key, written) or key_shows(common, written):
        path.unlink()
        piece = replace(piece, audit=audit | {"T14": False})
    return piece


def _anonymized(
    captures: Captures,
    task: SessionTask,
    tokenizer: Tokenizer,
    key: bytes,
    chains: MakeChains,
    listen: Callable[[Iterable[Exchange]], Iterable[Exchange]] = lambda heads: heads,
) -> Anonymized:
    settings = task.settings
    heads = listen(family_exchanges(captures, task.session_ids, bodies=False))
    calibration = read_calibration(settings.calibration, tokenizer) if settings.calibration else None
    return anonymize_session(
        family_exchanges(captures, task.session_ids),
        heads=heads,
        number=0,
        tokenizer=tokenizer,
        block_size=settings.block_size,
        max_input_tokens=settings.max_input_tokens,
        keep_aux=settings.keep_aux,
        key=key,
        chains=chains,
        calibration=calibration,
    )


def merge_pieces(
    target: Path,
    tasks: Sequence[SessionTask],
    done: Mapping[int, Done],
    settings: BuildSettings,
    created_by: str,
    *,
    captures: Captures,
    report: BuildReport | None = None,
    force: bool = False,
) -> Card:
    """The corpus of the pieces that are `done`, in the order of the tasks; refused when it fails a quick audit."""
    report = report or BuildReport()
    any_done = next(iter(done.values()), None)
    card = Card(
        created_by,
        any_done.tokenizer if any_done else None,
        any_done.tokenizer_sha256 if any_done else None,
        settings.block_size,
        rejected=report.rejected,
        calibration=_file_sha256(settings.calibration) if settings.calibration else None,
    )
    heads = HeadNumbers()
    sessions = _refuse_none(_sessions(tasks, done, report, card.audit, heads), captures.path, report)
    written = write_corpus(target, sessions, card, force=force, approve=refuse_unless_passed)
    write_contributions(target, heads.contributions(), written.fingerprint)
    return written


def _sessions(
    tasks: Sequence[SessionTask],
    done: Mapping[int, Done],
    report: BuildReport,
    audit: dict[str, str],
    heads: HeadNumbers,
) -> Iterator[Session]:
    """The pieces' sessions, numbered anew; counts go to the report and, at the end, to the card."""
    number = 0
    passed: Counter[str] = Counter()
    for task_number, task in enumerate(tasks):
        if task_number not in done:
            continue
        piece = read_piece(piece_path(task.folder, task.session_ids))
        if piece is None:
            raise AgentreelError(f"{task.folder}: a piece vanished or changed; build again")
        report.rejected.update(piece.rejected)
        report.damage.extend(piece.damage)
        if piece.session is not None:
            passed.update(piece.audit.keys())
            heads.add(piece.head)
            yield replace(piece.session, session=number)
            number += 1
    audit.update({test: f"passed on {passed[test]} of {number} sessions" for test in LIVE if passed[test]})


def _refuse_none(sessions: Iterator[Session], captures: Path, report: BuildReport) -> Iterator[Session]:
    """A corpus without a session is a mistake somewhere before; say what became of the exchanges."""
    empty = True
    for session in sessions:
        empty = False
        yield session
    if empty:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(report.rejected.items()))
        problem = f"holds nothing to build a corpus from ({reasons or 'no exchange was recorded'})"
        raise InputError(captures, problem)


def _refuse_failed(target: Path, done: Iterable[Done]) -> None:
    failed = sorted({test for one in done for test in one.failed_audits})
    if failed:
        raise InputError(target, f"audit {', '.join(failed)} failed while it was built", "this is a bug of agentreel")


def _captured_bytes(tasks: Iterable[SessionTask], captures: Path) -> list[int]:
    files = segments_by_stem(captures)
    stems = ([session_stem(session_id) for session_id in task.session_ids] for task in tasks)
    return [sum(file.stat().st_size for stem in one for file in files.get(stem, ())) for one in stems]


def _files(task: SessionTask) -> list[Path]:
    return [file for session_id in task.session_ids for file in segment_files(task.captures, session_id)]


def _config_digest(task: SessionTask, tokenizer: Tokenizer) -> str:
    """Of all settings, with the contents of files in the place of their names."""
    settings = task.settings
    calibration = None if settings.calibration is None else digest_files([settings.calibration])
    values = asdict(settings) | {"tokenizer": tokenizer.sha256, "calibration": calibration}
    return hashlib.blake2b(orjson.dumps([values, task.audited]), digest_size=16).hexdigest()


def _count_exchanges(captures: Captures, task: SessionTask) -> int:
    return sum(1 for session_id in task.session_ids for _ in captures.exchanges(session_id, bodies=False))


def _draw(session_id: str | None) -> bytes:
    return hashlib.blake2b(session_stem(session_id).encode(), digest_size=8).digest()


def _file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
