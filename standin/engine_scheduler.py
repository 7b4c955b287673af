"""Decides when the stand-in engine computes what: a small model of an inference server's scheduler, in given time.

It works in steps, as continuous-batching servers do. A step gives one token of budget to every decoding request and
the rest of the budget to prompts, oldest first; it lasts as long as its prompt tokens need at the prefill speed plus
one decode interval when anything decodes. A prompt's blocks can be shared as soon as they are scheduled, chunk by
chunk, as vLLM does (measured: a later request finds all of an earlier prompt, even while that is being computed). The
end of a request's prefill yields its first token; generated tokens are not cached. Nothing here reads a clock: the
caller says what time it is.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from corpus.prefix_cache import PrefixCache

BLOCK_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second; infinity means at once. `decode_tokens_s` is for each running request."""

    prefill_tokens_s: float = math.inf
    decode_tokens_s: float = math.inf
    max_running: int = 64
    step_tokens: int = 8192  # prompt and decode tokens one step may compute


@dataclass(frozen=True, slots=True)
class Job:
    number: int
    keys: tuple[int, ...]  # chained key of every whole block of the prompt
    prompt_tokens: int  # at least 1
    output_tokens: int  # at least 1


@dataclass(frozen=True, slots=True)
class Admitted:
    """The request left the queue; `cached_tokens` of its prompt need no computing."""

    number: int
    t_s: float
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Token:
    number: int
    t_s: float


@dataclass(frozen=True, slots=True)
class Finished:
    number: int
    t_s: float


Event = Admitted | Token | Finished


@dataclass(slots=True)
class _Running:
    job: Job
    prefill_left: int
    produced: int = 0


@dataclass(frozen=True, slots=True)
class _Step:
    end_s: float
    decoding: tuple[int, ...]
    prefill: tuple[tuple[int, int], ...]  # (job number, prompt tokens)


@dataclass(slots=True)
class Scheduler:
    """Call `advance(now)` before every other call and whenever `next_s()` has come; times must not go backwards."""

    speed: Speed
    capacity_blocks: int | None = None  # None: unlimited
    _cache: PrefixCache = field(init=False)
    _waiting: deque[Job] = field(default_factory=deque)
    _running: dict[int, _Running] = field(default_factory=dict)
    _step: _Step | None = None
    _free_s: float = 0.0  # when the last step ended
    _events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._cache = PrefixCache(self.capacity_blocks)

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def cache_usage(self) -> float:
        """Share of the capacity that running requests hold (0 when the capacity is unlimited)."""
        return min(1.0, self._held_blocks() / self.capacity_blocks) if self.capacity_blocks else 0.0

    def submit(self, now_s: float, job: Job) -> None:
        if self._step is None:
            self._free_s = now_s
        self._waiting.append(job)

    def abort(self, number: int) -> None:
        """Forget a request, wherever it is; unknown or finished numbers are fine."""
        self._running.pop(number, None)
        self._waiting = deque(job for job in self._waiting if job.number != number)

    def reset_cache(self) -> None:
        self._cache = PrefixCache(self.capacity_blocks)

    def next_s(self) -> float | None:
        """When `advance` will have something to tell; None while there is no work."""
        return self._step.end_s if self._step else None

    def advance(self, now_s: float) -> list[Event]:
        """All that happened until `now_s`, in order of time."""
        while True:
            self._step = self._step or self._plan()
            if self._step is None or self._step.end_s > now_s:
                break
            self._free_s = self._step.end_s
            self._complete(self._step)
            self._step = None
        events, self._events = self._events, []
        return events

    def _plan(self) -> _Step | None:
        decoding = tuple(n for n, r in self._running.items() if not r.prefill_left)
        budget = max(0, self.speed.step_tokens - len(decoding))
        prefill: list[tuple[int, int]] = []
        for request in self._running.values():
            if budget and request.prefill_left:
                prefill.append(self._schedule(request, budget))
                budget -= prefill[-1][1]
        while budget and self._waiting and self._fits(self._waiting[0]):
            prefill.append(self._schedule(self._admit(self._waiting.popleft()), budget))
            budget -= prefill[-1][1]
        if not decoding and not prefill:
            return None
        seconds = sum(tokens for _, tokens in prefill) / self.speed.prefill_tokens_s
        if decoding:
            seconds += 1.0 / self.speed.decode_tokens_s
        return _Step(self._free_s + seconds, decoding, tuple(prefill))

    def _schedule(self, request: _Running, budget: int) -> tuple[int, int]:
        """The next chunk of a prompt; its whole blocks can be shared from now on, before they are computed."""
        chunk = min(request.prefill_left, budget)
        scheduled = request.job.prompt_tokens - request.prefill_left + chunk
        self._cache.insert(request.job.keys[: scheduled // BLOCK_TOKENS])
        return request.job.number, chunk

    def _admit(self, job: Job) -> _Running:
        """The last prompt token is always computed, so a wholly cached prompt still has something to run."""
        usable = job.keys[: (job.prompt_tokens - 1) // BLOCK_TOKENS]
        cached = self._cache.match(usable) * BLOCK_TOKENS
        self._running[job.number] = _Running(job, job.prompt_tokens - cached)
        self._events.append(Admitted(job.number, self._free_s, cached))
        return self._running[job.number]

    def _fits(self, job: Job) -> bool:
        if len(self._running) >= self.speed.max_running:
            return False
        if self.capacity_blocks is None or not self._running:  # one request alone always runs
            return True
        return self._held_blocks() + _blocks(job.prompt_tokens + job.output_tokens) <= self.capacity_blocks

    def _held_blocks(self) -> int:
        return sum(_blocks(r.job.prompt_tokens + r.job.output_tokens) for r in self._running.values())

    def _complete(self, step: _Step) -> None:
        for number, tokens in step.prefill:
            request = self._running.get(number)
            if request is None:  # aborted meanwhile
                continue
            request.prefill_left -= tokens
            if not request.prefill_left:
                self._produce(request, step.end_s)
        for number in step.decoding:
            if number in self._running:
                self._produce(self._running[number], step.end_s)

    def _produce(self, request: _Running, t_s: float) -> None:
        number = request.job.number
        request.produced += 1
        self._events.append(Token(number, t_s))
        if request.produced >= request.job.output_tokens:
            del self._running[number]
            self._events.append(Finished(number, t_s))


def _blocks(tokens: int) -> int:
    return -(-tokens // BLOCK_TOKENS)
