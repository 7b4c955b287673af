"""Stand-in servers listen on loopback only."""

import pytest
from aiohttp import web

from corpus.errors import InputError
from standin.listening import listen


async def test_a_free_port_is_taken_on_loopback() -> None:
    server = await listen(web.Application(), 0)
    assert server.url.startswith("http://127.0.0.1:")
    await server.close()


async def test_a_port_in_use_is_a_one_line_error() -> None:
    server = await listen(web.Application(), 0)
    with pytest.raises(InputError, match="cannot listen"):
        await listen(web.Application(), int(server.url.rsplit(":", 1)[1]))
    await server.close()
