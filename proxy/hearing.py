"""The exchanges that are being listened to: each hears its events in order and ends exactly once.

Nothing here reaches the traffic: whatever fails while listening is counted, spoils at most the exchange it happened in,
and is never raised. `open` holds what has not ended; what is in it when a client or the recorder leaves is ended then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from corpus.exchange import End
from proxy.assembler import Assembler, Ended, Event, Record, RequestHead
from proxy.endings import Failure, Unreached, ending_of, words_for

BROKEN: Final = "the recorder failed while listening; the body is not whole"

_log = logging.getLogger(__name__)


class Exchange:
    """One exchange being listened to."""

    def __init__(self, assembler: Assembler, client_id: str, *, muted: bool = False) -> None:
        self.assembler = assembler
        self.client_id = client_id
        self.muted = muted  # it passes while recording is paused: nothing of it is kept
        self.request_complete = False
        self.request_pieces: list[bytes] = []  # of a body that is passed on as it comes
        self.broken = False


class Hearing:
    """`tell` takes finished records, `clock` gives Unix microseconds, `new_id` an exchange id for a time."""

    def __init__(
        self, tell: Callable[[Record], None], clock: Callable[[], int], new_id: Callable[[int], str], idle_limit_us: int
    ) -> None:
        self.open: dict[str, Exchange] = {}  # by a key of the caller's
        self.stopping = False
        self.failures = 0  # of ours, while listening
        self.on_failure: Callable[[], None] = lambda: None
        self.mutes: Callable[[], bool] = lambda: False  # whether what begins now is muted
        self.unreached: dict[str, Unreached] = {}  # by client connection: what its latest connect ran into
        self.clock = clock
        self.new_id = new_id
        self._tell = tell
        self._idle_limit_us = idle_limit_us

    def begin(self, key: str, head: RequestHead, client_id: str, *, muted: bool = False) -> Exchange:
        exchange = self.open[key] = Exchange(Assembler(head), client_id, muted=muted)
        return exchange

    def hear(self, exchange: Exchange, event: Event) -> None:
        """Raises what listening raises: call it under `guarded`."""
        if exchange.muted:
            return
        for record in exchange.assembler.feed(event):
            self._tell(record)

    def guarded(self, key: str, listen: Callable[[], None]) -> bool:
        """Whether `listen` went well. `key`: the exchange that is spoilt when it does not; "" for none."""
        try:
            listen()
        except Exception as fault:  # noqa: BLE001 - a bug in listening must never reach the traffic
            self._note(fault)
            if exchange := self.open.get(key):
                exchange.broken = True
            return False
        return True

    def end(self, key: str, end: End) -> None:
        exchange = self.open.pop(key)
        try:
            self.hear(exchange, Ended(self.clock(), end, BROKEN if exchange.broken else words_for(end)))
        except Exception as fault:  # noqa: BLE001 - see guarded
            self._note(fault)

    def break_off(self, key: str, *, client_left: bool, server_left: bool = False) -> None:
        """Ends an exchange that did not complete, for the reason that fits what is known."""
        exchange = self.open.get(key)
        if exchange is None:
            return
        failure = Failure(
            stopping=self.stopping,
            client_left=client_left,
            idle_us=self.clock() - exchange.assembler.t_last_us,
            idle_limit_us=self._idle_limit_us,
            request_complete=exchange.request_complete,
            server_left=server_left,
            unreached=self.unreached.get(exchange.client_id),
        )
        self.end(key, ending_of(failure))

    def break_off_all(self, client_id: str, *, client_left: bool) -> None:
        for key in [key for key, exchange in self.open.items() if exchange.client_id == client_id]:
            self.break_off(key, client_left=client_left)

    def _note(self, fault: Exception) -> None:
        self.failures += 1
        self.on_failure()
        _log.warning("listening failed, traffic goes on: %s", type(fault).__name__)
