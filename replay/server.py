"""The server beside its answers: which engine it is, how long a context it takes, and emptying its prefix cache.

None of it is needed for a replay, so a server that says nothing here is taken for one like vLLM, and told as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import orjson

from corpus.errors import InputError
from replay.connection import Clock, Connections
from replay.engines import Engine, context_tokens, engine_of
from replay.fetch import fetch
from replay.settings import without_credentials

_CONNECT_TIMEOUT_S: Final = 30.0
_TIMEOUT_S: Final = 10.0
_RESET_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ServerFacts:
    engine: Engine
    context_tokens: int | None  # the longest context, prompt and output together; None: it does not say


async def check_reachable(url: str) -> None:
    """InputError when nobody takes a connection."""
    try:
        connection = await Connections.to(url, Clock(), _CONNECT_TIMEOUT_S).acquire()
    except OSError as error:
        raise unreachable(url, error.strerror or str(error) or "no answer") from error
    connection.close()


def unreachable(url: str, detail: str) -> InputError:
    return InputError(without_credentials(url), f"cannot reach the server ({detail})", "start it or check --url")


async def look_at(url: str, model: str, headers: Mapping[str, str], engine: Engine | None = None) -> ServerFacts:
    """`engine`: named by the user, and believed."""
    models: object = None
    with suppress(OSError, ValueError):
        _, page = await fetch(_base(url) + "/v1/models", timeout_s=_TIMEOUT_S, headers=headers)
        models = orjson.loads(page)
    engine = engine or engine_of(models)
    return ServerFacts(engine, context_tokens(engine, models, model))


async def reset_cache(url: str, engine: Engine, headers: Mapping[str, str]) -> str:
    """Empty the prefix cache; "" when that was done, else why not."""
    if not engine.resets:
        return f"{engine.title} empties its cache only by {engine.reset_needs}"
    problem = ""
    for path in engine.resets:
        try:
            status, _ = await fetch(_base(url) + path, timeout_s=_RESET_TIMEOUT_S, headers=headers, method="POST")
        except (OSError, ValueError) as error:
            problem = f"{path}: {str(error) or 'no answer'}"
            continue
        if status == 200:
            return ""
        problem = f"HTTP {status} for {path}"
    return problem + (f"; it needs {engine.reset_needs}" if engine.reset_needs else "")


def _base(url: str) -> str:
    return url.rstrip("/").removesuffix("/v1")
