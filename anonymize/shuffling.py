"""Sessions in a random order, however many there are.

A corpus stands in order of time, which tells when a session was recorded among the others. Sessions wait in an
unnamed temporary file that only this user can read, so memory holds their places and never more than one of them.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from random import Random

from corpus.session import Session


def in_random_order(sessions: Iterable[Session], random: Random) -> Iterator[Session]:
    """All of them, once all are there; every order is as likely as any other. `random`: SystemRandom, but for tests."""
    with tempfile.TemporaryFile(prefix="agentreel-") as file:
        places = []
        for session in sessions:
            places.append(file.tell())
            pickle.dump(session, file, pickle.HIGHEST_PROTOCOL)
        random.shuffle(places)
        for place in places:
            file.seek(place)
            session = pickle.load(file)  # noqa: S301 - what this loop wrote
            yield session
