"""A real Chromium without a window, spoken to through its debugging protocol: open a file, ask it, watch what it does.

`events` holds what must not happen: requests other than the page itself, and what the console was told.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "about:blank",
)
_BAD = ("Network.requestWillBeSent", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class Browser:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._loaded = asyncio.Event()
        self._calls = 0
        self.events: list[str] = []

    async def listen(self) -> None:
        async for message in self._socket:
            said = message.json()
            if "id" in said:
                answer = said["error"] if "error" in said else said["result"]
                self._waiting.pop(said["id"]).set_result(answer)
            elif said["method"] == "Page.loadEventFired":
                self._loaded.set()
            elif said["method"] in _BAD:
                self._note(said["method"], said["params"])

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            if not params["request"]["url"].startswith("file:") or params["type"] != "Document":
                self.events.append(f"request: {params['request']['url']}")
        else:
            self.events.append(f"{method}: {params}")

    async def call(self, method: str, **params: Any) -> Any:
        self._calls += 1
        waiting = self._waiting[self._calls] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._calls, "method": method, "params": params})
        return await asyncio.wait_for(waiting, 60)

    async def open(self, url: str, *, width: int = 1280, height: int = 1000, dark: bool = False) -> None:
        """Returns when the page has unpacked its data and drawn twice, so that what depends on its size is there."""
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded.clear()
        await self.call("Page.navigate", url=url)
        await asyncio.wait_for(self._loaded.wait(), 60)
        drawn = "document.documentElement.dataset.drawn"
        await self.ask(f"new Promise((done) => (function look() {{ {drawn} ? done() : setTimeout(look, 10); }})())")
        await self.drawn()

    async def drawn(self) -> None:
        await self.ask(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
        )

    async def ask(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for; what it throws is an AssertionError."""
        said = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    async def move(self, selector: str, *, click: bool = False) -> None:
        """The pointer to the middle of the first element found."""
        await self.ask(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        await self.drawn()
        await self._press(*await self._middle(selector), click=click)

    async def wheel(self, selector: str, turn: float, *, shift: bool) -> None:
        """Over the middle of the first element found, which must be in sight."""
        x, y = await self._middle(selector)
        await self.call(
            "Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=turn, modifiers=8 if shift else 0
        )
        await self.drawn()

    async def drag(self, selector: str, by: float) -> None:
        """To the right, from the middle of the first element found, which must be in sight."""
        x, y = await self._middle(selector)
        for kind, at in (
            ("mousePressed", x),
            ("mouseMoved", x + by / 2),
            ("mouseMoved", x + by),
            ("mouseReleased", x + by),
        ):
            await self.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)
        await self.drawn()

    async def point(self, selector: str, x: float, y: float, *, click: bool = False) -> None:
        """The pointer to a place in the first element found, counted from its corner."""
        left, top = await self.ask(
            f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();return [b.x, b.y]; }})()"
        )
        await self._press(left + x, top + y, click=click)

    async def _middle(self, selector: str) -> tuple[float, float]:
        x, y = await self.ask(
            f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return x, y

    async def _press(self, x: float, y: float, *, click: bool) -> None:
        kinds = ("mouseMoved", "mousePressed", "mouseReleased") if click else ("mouseMoved",)
        for kind in kinds:
            button = "none" if kind == "mouseMoved" else "left"
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=int(click))
        await self.drawn()

    async def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)
        await self.drawn()

    async def screenshot(self, selector: str = "html") -> bytes:
        """PNG of the whole page, or of one element; for looking at."""
        box = await self.ask(
            f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
            "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()"
        )
        clip = dict(zip(("x", "y", "width", "height"), box, strict=True)) | {"scale": 1}
        said = await self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(said["data"])


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            f"--user-data-dir={home}",
            *_FLAGS,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        drain: asyncio.Future[bytes] | None = None
        try:
            assert process.stderr is not None
            port = await asyncio.wait_for(_port(process.stderr), 60)
            drain = asyncio.ensure_future(process.stderr.read())
            async with aiohttp.ClientSession() as http:
                async with http.get(f"http://127.0.0.1:{port}/json") as answer:
                    url = next(t["webSocketDebuggerUrl"] for t in await answer.json() if t["type"] == "page")
                async with http.ws_connect(url, max_msg_size=0) as socket:
                    browser = Browser(socket)
                    listening = asyncio.ensure_future(browser.listen())
                    yield browser
                await listening
        finally:
            process.kill()
            await process.wait()
            if drain is not None:
                await drain


async def _port(stderr: asyncio.StreamReader) -> str:
    async for line in stderr:
        if b"DevTools listening on" in line:
            return line.decode().split("127.0.0.1:")[1].split("/")[0]
    raise AssertionError("chromium did not start")
