from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agentreel.building
from agentreel.building import Done, SessionTask, build_corpus, make_piece, session_tasks
from agentreel.workers import InThisProcess, Outcome, WorkerProcesses
from anonymize.contributions import contributions_path, read_contributions
from anonymize.policy import check_record
from corpus.capture.prune import prune_captures
from corpus.capture.reader import Captures, open_captures
from corpus.errors import AgentreelError, InputError
from corpus.exchange import Exchange, Identity
from corpus.session import Session
from corpus.tables import read_card, read_corpus
from tests.agentreel.building_site import SETTINGS, US, built, bytes_of, record, talk
from tests.anonymize.exchanges import claude_answer, claude_body, exchange, user


def test_every_exchange_is_a_request_or_counted_with_a_reason(chain: Any, tmp_path: Path) -> None:
    captures = open_captures(chain.captures)
    card, report = build_corpus(captures, tmp_path / "corpus", SETTINGS, InThisProcess(), created_by=US)
    assert card.counts["requests"] + sum(card.rejected.values()) == len(list(captures.exchanges(bodies=False)))
    assert report.sessions == len(captures.session_ids())
    assert [session.session for session in read_corpus(tmp_path / "corpus")] == list(range(card.counts["sessions"]))


def test_built_sessions_are_linked_and_hold_only_words_of_the_fixed_lists(chain: Any) -> None:
    for session in read_corpus(chain.corpus):
        assert session.edges
        assert check_record(session).total() > 0


def test_prompts_longer_than_the_limit_are_left_out_and_counted(captures: Captures, tmp_path: Path) -> None:
    built(captures, tmp_path / "corpus", max_input_tokens=500)
    sizes = [one.input_tokens for session in read_corpus(tmp_path / "corpus") for one in session.requests]
    assert max(sizes) <= 500
    assert read_card(tmp_path / "corpus").rejected["over_max_input_tokens"] == 12 - len(sizes) > 0


def test_any_number_of_workers_writes_the_same_bytes(captures: Captures, tmp_path: Path) -> None:
    alone = built(captures, tmp_path / "alone")
    assert (
        alone
        == built(captures, tmp_path / "one", WorkerProcesses(1))
        == built(captures, tmp_path / "three", WorkerProcesses(3))
    )


class Backwards:
    """Hands tasks out in another order, and is any cluster's runner in small."""

    def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]:
        for number in reversed(range(len(tasks))):
            yield Outcome(number, work(tasks[number]), "", 1)


def test_the_order_of_the_tasks_changes_no_byte(captures: Captures, tmp_path: Path) -> None:
    assert built(captures, tmp_path / "one") == built(captures, tmp_path / "other", Backwards())


class Interrupted:
    """Ctrl-C, or a kill, after two tasks."""

    def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]:
        for number in range(2):
            yield Outcome(number, work(tasks[number]), "", 1)
        raise KeyboardInterrupt


def test_an_interrupted_build_goes_on_where_it_was(captures: Captures, tmp_path: Path) -> None:
    target = tmp_path / "corpus"
    with pytest.raises(KeyboardInterrupt):
        built(captures, target, Interrupted())
    assert not target.exists()
    _, report = build_corpus(captures, target, SETTINGS, InThisProcess(), created_by=US)
    assert report.resumed == 2
    assert bytes_of(target) == built(captures, tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["captures", "corpus", "whole"]


def test_pieces_of_other_captures_or_settings_are_made_anew(captures: Captures, tmp_path: Path) -> None:
    target = tmp_path / "corpus"
    with pytest.raises(KeyboardInterrupt):
        built(captures, target, Interrupted())
    record(captures.path, talk("s5", 900.0))
    again = open_captures(captures.path)
    settings = replace(SETTINGS, block_size=32)
    with pytest.raises(KeyboardInterrupt):
        build_corpus(again, target, SETTINGS, Interrupted(), created_by=US)
    _, report = build_corpus(again, target, settings, InThisProcess(), created_by=US)
    assert report.resumed == 0


def test_a_process_that_outlives_what_it_read_reads_it_anew(captures: Captures, tmp_path: Path) -> None:
    """As the workers of a cluster do, between one build and the next."""
    built(captures, tmp_path / "before")
    prune_captures(captures.path, lambda notes: [max(notes, key=lambda note: note.t_request_us).exchange_id])
    built(open_captures(captures.path), tmp_path / "after")
    before, after = (read_card(tmp_path / name).counts["requests"] for name in ("before", "after"))
    assert (before, after) == (12, 11)


def test_a_task_done_twice_is_done_once(captures: Captures, tmp_path: Path) -> None:
    task = session_tasks(captures, tmp_path, SETTINGS)[0]
    first, second = make_piece(task), make_piece(task)
    assert (first.found, second.found) == (False, True)
    assert first == replace(second, found=False)


def die_for_the_largest(task: SessionTask) -> Done:
    if task.session_ids == ("s5",):
        os.kill(os.getpid(), signal.SIGKILL)
    return make_piece(task)


def test_a_session_that_kills_its_workers_is_listed_counted_and_costs_no_other(
    captures: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agentreel.building, "make_piece", die_for_the_largest)
    card, report = build_corpus(captures, tmp_path / "corpus", SETTINGS, WorkerProcesses(2), created_by=US)
    assert [session for session, _ in report.poison] == ["s5"]
    assert card.counts["sessions"] == 5
    assert card.rejected == {"poison_session": 2}


def test_the_live_audit_ran_on_a_sample_and_the_search_for_the_key_on_all(captures: Captures, tmp_path: Path) -> None:
    built(captures, tmp_path / "corpus")
    assert read_card(tmp_path / "corpus").audit == dict.fromkeys(
        ("T2", "T3", "T4", "T9"), "passed on 4 of 6 sessions"
    ) | {"T14": "passed on 6 of 6 sessions"}


def test_the_sample_is_drawn_by_session_alone(captures: Captures, tmp_path: Path) -> None:
    drawn = [task.session_ids for task in session_tasks(captures, tmp_path, SETTINGS) if task.audited]
    record(captures.path, talk("s9", 0.5))  # the first by time
    again = session_tasks(open_captures(captures.path), tmp_path, SETTINGS)
    assert len(drawn) == 4
    assert len({task.session_ids for task in again if task.audited} & set(drawn)) >= 3


@pytest.mark.parametrize("test", ["T2", "T3", "T4", "T9"])
def test_a_session_that_fails_a_live_audit_stops_the_build(
    captures: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str
) -> None:
    monkeypatch.setattr(agentreel.building, "audit_live", lambda *_: {test: False})
    with pytest.raises(InputError, match=f"audit {test} failed while it was built"):
        built(captures, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_a_planted_key_in_a_piece_stops_the_build(
    captures: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = bytes(range(100, 132))
    monkeypatch.setattr("secrets.token_bytes", lambda _: key)
    monkeypatch.setattr(agentreel.building, "piece_bytes", lambda piece: b"..." + key.hex().encode())
    with pytest.raises(InputError, match="audit T14 failed while it was built"):
        built(captures, tmp_path / "corpus")
    assert not list((tmp_path / ".corpus.build").glob("*.piece"))


def test_a_corpus_that_fails_a_quick_audit_is_not_finished(
    captures: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsound(session: Session) -> Session:
        return replace(session, requests=(replace(session.requests[0], t_start_us=1), *session.requests[1:]))

    monkeypatch.setattr(agentreel.building, "link_session", unsound)
    with pytest.raises(InputError, match="audit T11 failed"):
        built(captures, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_a_piece_that_vanishes_before_the_end_is_said(captures: Captures, tmp_path: Path) -> None:
    class Thief(InThisProcess):
        def run[Task, Result](self, work: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Outcome[Result]]:
            yield from super().run(work, tasks)
            next((tmp_path / ".corpus.build").glob("*.piece")).unlink()

    with pytest.raises(AgentreelError, match="vanished or changed; build again"):
        built(captures, tmp_path / "corpus", Thief())


def sent_by(*people: str | None) -> list[Exchange]:
    """A session each, of one harness with a long system prompt."""
    system = " ".join(f"rule {n}" for n in range(200))
    made = []
    for number, person in enumerate(people):
        who = Identity(session_id=f"s{number}", purpose="turn", harness="claude-code", harness_version="2.1.328")
        body = claude_body([user(f"question {number}")], system=system)
        one = exchange(number, body, claude_answer({"type": "text", "text": "done"}), identity=who)
        made.append(Exchange(replace(one.request, contributor=person), one.response))
    return made


def test_what_people_have_in_common_lies_beside_the_corpus_and_not_in_it(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    of_many = record(tmp_path / "captures", sent_by("ann", "bob", "ann", None))
    made = built(of_many, corpus)
    known = read_contributions(corpus, read_card(corpus).fingerprint)
    assert known.contributors == (0, 1, 0, None)
    blocks = [known.common_blocks(session) for session in range(4)]
    assert blocks[0] == blocks[1] == blocks[2] != {} == blocks[3]
    assert made == built(record(tmp_path / "again", sent_by(None, None, None, None)), tmp_path / "plain")
    assert not contributions_path(tmp_path / "plain").exists()
    written = contributions_path(corpus).read_bytes()
    assert b"ann" not in written
    assert max(map(len, re.findall(rb"[0-9a-f]+", written))) == 32, "no digest but the fingerprint of the corpus"


def test_what_an_earlier_build_knew_does_not_stay(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    built(record(tmp_path / "many", sent_by("ann", "bob")), corpus)
    alone = record(tmp_path / "alone", sent_by("ann", "ann"))
    build_corpus(alone, corpus, SETTINGS, InThisProcess(), created_by=US, force=True)
    assert not contributions_path(corpus).exists()
