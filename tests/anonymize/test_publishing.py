from __future__ import annotations

from pathlib import Path
from random import Random

from anonymize.audit.folder import audit_folder
from anonymize.contributions import Contributions
from anonymize.publishing import publish_sessions
from corpus.blocks import SHARED_FROM
from corpus.card import Card
from corpus.session import Session
from corpus.tables import write_corpus
from tests.anonymize.contributed import HARNESS, corpus_of, exchanges_of


def built() -> tuple[list[Session], Contributions]:
    return corpus_of([exchanges_of(f"p{n}", HARNESS, *("go on " * 40 for _ in range(n + 1))) for n in range(7)])


def published(withdrawn: tuple[int, ...] = (), seed: int = 0) -> list[Session]:
    sessions, known = built()
    return list(publish_sessions(lambda: iter(sessions), known, Random(seed), withdrawn))


def has_shared(session: Session) -> bool:
    return any(start >= SHARED_FROM for start in session.requests[0].blocks.run_start)


def test_a_published_corpus_passes_the_audits_of_a_folder(tmp_path: Path) -> None:
    sessions = published()
    assert all(map(has_shared, sessions))
    write_corpus(tmp_path / "public", sessions, Card("agentreel 0.1.0", policy="public"))
    assert [one.detail for one in audit_folder(tmp_path / "public") if not one.ok] == []
    write_corpus(tmp_path / "owner", sessions, Card("agentreel 0.1.0"))
    assert "T1" in [one.id for one in audit_folder(tmp_path / "owner") if not one.ok]


def test_short_and_withdrawn_sessions_are_left_out_and_the_rest_numbered_anew() -> None:
    assert sorted(len(one.requests) for one in published()) == [2, 3, 4, 5, 6, 7], "the first has one request"
    fewer = published(withdrawn=(2, 3))
    assert [one.session for one in fewer] == [0, 1, 2, 3]
    assert sorted(len(one.requests) for one in fewer) == [2, 5, 6, 7]
    assert not any(map(has_shared, fewer)), "four people are left"


def test_without_what_is_known_nothing_is_shared() -> None:
    sessions, _ = built()
    assert not any(map(has_shared, publish_sessions(lambda: iter(sessions), Contributions(), Random(0))))


def test_the_order_is_drawn_anew_each_time() -> None:
    orders = {tuple(len(one.requests) for one in published(seed=seed)) for seed in range(5)}
    assert len(orders) > 1
    assert all(sorted(order) == [2, 3, 4, 5, 6, 7] for order in orders)
