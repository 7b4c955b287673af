"""The pool of content, made in a process of its own while this one reads the sessions.

Parsing a vocabulary and proving the snippets takes about as long as reading a few thousand requests, and what it leaves
behind is small: so the tokenizer, over a hundred megabytes of it, is never held by the process that sends.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from corpus.errors import AgentreelError

if TYPE_CHECKING:  # the sooner this module is there, the sooner the other process begins
    from replay.content_pool import Pool


@contextmanager
def pool_ahead(tokenizer: str) -> Iterator[Callable[[], Pool]]:
    """What is yielded waits for the pool, and raises what making it raised. Leaving ends the process."""
    context = multiprocessing.get_context("spawn")  # a forked copy would inherit the threads of others half-way
    pipe, end = context.Pipe(duplex=False)
    process = context.Process(target=_make, args=(end, tokenizer), daemon=True)
    process.start()
    end.close()

    @cache
    def pool() -> Pool:
        try:
            made: Pool | AgentreelError = pipe.recv()
        except EOFError:
            process.join()
            raise AgentreelError(f"making the content of prompts failed (exit code {process.exitcode})") from None
        if isinstance(made, AgentreelError):
            raise made
        return made

    try:
        yield pool
    finally:
        process.terminate()
        process.join()
        pipe.close()


def _make(end: Connection, tokenizer: str) -> None:
    """A process's life; Ctrl-C is for the one who started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # a vocabulary is a quarter of a million pairs without a cycle
    from replay.content_pool import make_pool

    made: Pool | AgentreelError
    try:
        made = make_pool(tokenizer)
    except AgentreelError as error:
        made = error
    end.send(made)
