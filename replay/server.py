"""The server beside its answers: which engine it is, how long a context it takes, and emptying its prefix cache.

None of it is needed for a replay, so a server that says nothing here is taken for one like vLLM, and told as that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
import orjson

from replay.engines import Engine, context_tokens, engine_of

_TIMEOUT_S: Final = 10.0
_RESET_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ServerFacts:
    engine: Engine
    context_tokens: int | None  # the longest context, prompt and output together; None: it does not say


async def look_at(url: str, model: str, headers: Mapping[str, str], engine: Engine | None = None) -> ServerFacts:
    """`engine`: named by the user, and believed."""
    models: object = None
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
            session.get(_base(url) + "/v1/models") as response,
        ):
            models = orjson.loads(await response.read())
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        pass
    engine = engine or engine_of(models)
    return ServerFacts(engine, context_tokens(engine, models, model))


async def reset_cache(url: str, engine: Engine, headers: Mapping[str, str]) -> str:
    """Empty the prefix cache; "" when that was done, else why not."""
    if not engine.resets:
        return f"{engine.title} empties its cache only by {engine.reset_needs}"
    problem = ""
    timeout = aiohttp.ClientTimeout(total=_RESET_TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:
        for path in engine.resets:
            try:
                async with session.post(_base(url) + path) as response:
                    if response.status == 200:
                        return ""
                    problem = f"HTTP {response.status} for {path}"
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                problem = f"{path}: {str(error) or 'no answer'}"
    return problem + (f"; it needs {engine.reset_needs}" if engine.reset_needs else "")


def _base(url: str) -> str:
    return url.rstrip("/").removesuffix("/v1")
