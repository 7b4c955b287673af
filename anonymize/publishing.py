"""Sessions as `publish` writes them: the public column, what few people have taken out, what many share made one.

Two passes over the corpus, neither of which holds more than a session: who has what, then each session as it leaves.
A corpus is in order of time; what comes out is in a random one, numbered anew, and is for
`write_corpus(..., replace(card, policy="public"), approve=refuse_unless_passed)`. `LEAST_CONTRIBUTORS` is no option.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from random import Random
from typing import Final

from anonymize.contributions import Contributions
from anonymize.crowd import Crowd
from anonymize.public import public_session
from anonymize.sharing import draw_shared, share_heads
from anonymize.shuffling import in_random_order
from corpus.session import Session

LEAST_REQUESTS: Final = 2  # a session of one request says a size and a model, and nothing about agents


def publish_sessions(
    read: Callable[[], Iterator[Session]],
    known: Contributions,
    random: Random,
    withdrawn: Collection[int] = (),
) -> Iterator[Session]:
    """The corpus's sessions in a random order, numbered anew; those too short or `withdrawn` (by number) are left out.

    `read` gives the sessions of a built corpus each time it is called; `known`: `read_contributions` of that corpus,
    empty when nothing may be shared; `random`: SystemRandom.
    """

    def kept() -> Iterator[Session]:
        return (one for one in read() if len(one.requests) >= LEAST_REQUESTS and one.session not in withdrawn)

    crowd, numbers = Crowd(known), []
    for session in kept():
        crowd.add(public_session(session))
        numbers.append(session.session)
    shared = draw_shared(known, numbers, random)

    def leaving() -> Iterator[Session]:
        for session in kept():
            yield share_heads(crowd.blend(public_session(session)), known.common_blocks(session.session), shared)

    for number, session in enumerate(in_random_order(leaving(), random)):
        yield replace(session, session=number)
