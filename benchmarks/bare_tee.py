"""mitmproxy with the least it needs and a tee that keeps nothing: what any recorder built on it costs at least."""

from __future__ import annotations

import asyncio
import sys
import warnings

warnings.simplefilter("ignore")

from mitmproxy import http, options  # noqa: E402
from mitmproxy.addons import core, disable_h2c, next_layer, proxyserver, tlsconfig  # noqa: E402
from mitmproxy.master import Master  # noqa: E402


class Tee:
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        assert flow.response is not None
        flow.response.stream = lambda data: data


class NoAuthority(tlsconfig.TlsConfig):
    def configure(self, updated: set[str]) -> None:
        pass


async def main() -> None:
    master = Master(options.Options(mode=[f"reverse:{sys.argv[1]}@127.0.0.1:0"]))
    server = proxyserver.Proxyserver()
    master.addons.add(core.Core(), server, next_layer.NextLayer(), NoAuthority(), disable_h2c.DisableH2C(), Tee())
    master.options.update(connection_strategy="lazy")
    running = asyncio.ensure_future(master.run())
    while not server.listen_addrs():  # noqa: ASYNC110 - it tells no one when it listens
        await asyncio.sleep(0.01)
    print(f"http://127.0.0.1:{server.listen_addrs()[0][1]}", flush=True)
    await running


if __name__ == "__main__":
    asyncio.run(main())
