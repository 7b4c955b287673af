"""Sessions of several people who use the same harness, for the tests of what is shared between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anonymize.contributions import Contributions, HeadNumbers
from anonymize.heads import Contributor, Head, MarkingChains
from corpus.exchange import Exchange, Identity
from corpus.session import Session
from tests.anonymize.exchanges import WordTokenizer, claude_answer, claude_body, exchange, session_of, user

COMMON_KEY = b"c" * 32
HARNESS = "you are a harness of many words " * 30  # 421 tokens with the control token: 6 blocks of 64


def exchanges_of(person: str | None, system: str, *questions: str) -> list[Exchange]:
    """A main agent that is asked one question after another."""
    identity = Identity(session_id="s", purpose="turn", harness="claude-code", harness_version="2.1.328")
    made = []
    for number in range(len(questions)):
        body = claude_body([user(" and ".join(questions[: number + 1]))], system=system)
        one = exchange(number, body, claude_answer({"type": "text", "text": "yes"}), identity=identity)
        made.append(Exchange(replace(one.request, contributor=person), one.response))
    return made


def marked(exchanges: Sequence[Exchange], number: int = 0, key: bytes = COMMON_KEY) -> tuple[Session, Head | None]:
    """As `build` makes a piece of them."""
    chains, contributor = MarkingChains(key), Contributor()
    heads = list(contributor.heard(exchanges))
    session = session_of(exchanges, _TOKENIZER, number=number, chains=chains, heads=heads)
    return session, chains.head(contributor)


def corpus_of(sessions: Sequence[Sequence[Exchange]]) -> tuple[list[Session], Contributions]:
    numbers, made = HeadNumbers(), []
    for number, exchanges in enumerate(sessions):
        session, head = marked(exchanges, number)
        made.append(session)
        numbers.add(head)
    return made, numbers.contributions()


_TOKENIZER = WordTokenizer()
