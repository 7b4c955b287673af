"""Sessions as `publish` writes them: the public column, what few people have taken out, what many share made one.

Two passes over the corpus, neither of which holds more than a session: who has what, then each session as it leaves.
What comes out is for `write_corpus(..., replace(card, policy="public"), approve=refuse_unless_passed)`. The order is
that of the corpus, by time; whoever wants to hide it shuffles. `LEAST_CONTRIBUTORS` is no option.
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
from corpus.session import Session

LEAST_REQUESTS: Final = 2  # a session of one request says a size and a model, and nothing about agents


def publish_sessions(
    read: Callable[[], Iterator[Session]],
    known: Contributions,
    random: Random,
    withdrawn: Collection[int] = (),
) -> Iterator[Session]:
    """The corpus's sessions in their order, numbered anew; those too short or `withdrawn` (by number) are left out.

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
    for number, session in enumerate(kept()):
        public = crowd.blend(public_session(session))
        yield replace(share_heads(public, known.common_blocks(session.session), shared), session=number)
