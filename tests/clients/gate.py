"""A gate in place of the internet: an HTTP proxy on loopback that refuses everything and remembers what was wanted."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Gate:
    url: str = ""
    refused: list[str] = field(default_factory=list)  # host:port, or a URL where TLS was not asked for


@contextmanager
def closed_gate() -> Iterator[Gate]:
    gate = Gate()

    class Refuse(BaseHTTPRequestHandler):
        def _refuse(self) -> None:
            gate.refused.append(self.path)
            with contextlib.suppress(ConnectionError):  # it may not care to hear
                self.send_error(403)

        do_CONNECT = do_GET = do_HEAD = do_POST = do_PUT = _refuse  # noqa: N815 - names the library looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's signature
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuse) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        gate.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield gate
        finally:
            server.shutdown()
            thread.join()
