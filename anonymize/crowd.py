"""Words and sizes that few people share, taken out of what is published.

A public model name is no secret, but the only session with it is easy to find. A model, harness or version stays where
at least `LEAST_CONTRIBUTORS` people have it, or all who gave something, if these are fewer; else it becomes "other",
and a version nothing. The size of tools and system prompt tells which extensions somebody uses: where a size is that
rare, heads of the session are rounded to `RARE_HEAD_STEP_TOKENS`. Where nobody knows who gave what, sessions are
counted in the place of people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Final

from anonymize.contributions import Contributions
from anonymize.heads import HEAD_ROLES
from anonymize.public import in_whole_blocks
from anonymize.sharing import LEAST_CONTRIBUTORS
from anonymize.words import OTHER
from corpus.blocks import SegmentList, expand_segments
from corpus.session import Session

RARE_HEAD_STEP_TOKENS: Final = 4096

type Trait = tuple[str, Hashable]


class Crowd:
    """Sessions of the public column are added one by one; then each may ask what of it is common."""

    def __init__(self, known: Contributions) -> None:
        self._known = known
        self._members: set[int] = set()
        self._having: dict[Trait, set[int]] = defaultdict(set)

    def add(self, session: Session) -> None:
        member = self._known.contributor(session.session) if self._known.contributors else session.session
        if member is not None:
            self._members.add(member)
            for trait in _traits(session):
                self._having[trait].add(member)

    def blend(self, session: Session) -> Session:
        """The session without what makes it stand out."""
        harness = session.harness if self._is_common(("harness", session.harness)) else OTHER
        version = session.harness_version if harness == session.harness else ()
        if not self._is_common(("version", (harness, version))):
            version = ()
        session = _renamed(replace(session, harness=harness, harness_version=version), self)
        if all(self._is_common(trait) for trait in _sizes(session)):
            return session
        requests = in_whole_blocks(session.requests, session.block_size, RARE_HEAD_STEP_TOKENS)
        return replace(session, requests=requests)

    def is_common_model(self, model: str) -> bool:
        return model == OTHER or self._is_common(("model", model))

    def _is_common(self, trait: Trait) -> bool:
        return len(self._having[trait]) >= min(LEAST_CONTRIBUTORS, len(self._members))


def _renamed(session: Session, crowd: Crowd) -> Session:
    """Models that become "other" become one."""
    words = [model if crowd.is_common_model(model) else OTHER for model in session.models]
    models = tuple(dict.fromkeys(words))
    if models == session.models:
        return session
    number = [models.index(word) for word in words]
    requests = tuple(replace(request, model=number[request.model]) for request in session.requests)
    return replace(session, models=models, requests=requests)


def _traits(session: Session) -> Iterator[Trait]:
    yield "harness", session.harness
    yield "version", (session.harness, session.harness_version)
    yield from (("model", model) for model in session.models)
    yield from _sizes(session)


def _sizes(session: Session) -> set[Trait]:
    return {("head", _head(segments)) for segments in expand_segments(session.requests) if segments}


def _head(segments: SegmentList) -> tuple[int, int]:
    """Tokens of tools and of system prompts that a prompt begins with."""
    tokens = {"tools": 0, "system": 0}
    for role, size in segments:
        if role not in HEAD_ROLES:
            break
        tokens[role] += size
    return tokens["tools"], tokens["system"]
