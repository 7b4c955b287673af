"""A hub on loopback: as much of the protocol as `huggingface_hub` and `datasets` speak to publish and to load.

Repositories are histories of whole trees in memory. Every call can be made to fail: `fail(n)` breaks the n-th from now.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

TOKEN = "hf_" + "t" * 34
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Repo:
    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, tree: dict[str, bytes]) -> str:
        sha = hashlib.sha1(repr((len(self.commits), sorted(tree))).encode()).hexdigest()
        self.commits[sha] = tree
        self.branches["main"] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        found = self.branches.get(revision) or self.tags.get(revision)
        return found or (revision if revision in self.commits else None)


class FakeHub:
    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.objects: dict[str, bytes] = {}
        self.calls: list[str] = []
        self.url = ""
        self._failing: tuple[int, int] | None = None

    def fail(self, nth: int, status: int = 500) -> None:
        """Answer the n-th call from now (from 0) with an error, and those behind it again as usual."""
        self._failing = (len(self.calls) + nth, status)

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._watch], client_max_size=1 << 30)
        api, repo = "/api/datasets/{org}/{name}", "/datasets/{org}/{name}"
        app.add_routes(
            [
                web.get("/api/whoami-v2", self._whoami),
                web.post("/api/repos/create", self._create),
                web.post("/api/validate-yaml", self._validate),
                web.get(api, self._info),
                web.get(api + "/revision/{revision:.+}", self._info),
                web.put(api + "/settings", self._settings),
                web.get(api + "/refs", self._refs),
                web.post(api + "/tag/{revision:.+}", self._tag),
                web.post(api + "/preupload/{revision:.+}", self._preupload),
                web.post(api + "/commit/{revision:.+}", self._commit),
                web.post(api + "/paths-info/{revision:.+}", self._paths),
                web.get(api + "/tree/{revision}", self._tree),
                web.get(api + "/tree/{revision}/{path:.+}", self._tree),
                web.post(repo + ".git/info/lfs/objects/batch", self._batch),
                web.put("/lfs/{oid}", self._store),
                web.post("/lfs/{oid}/verify", self._verify),
                web.get(repo + "/resolve/{revision}/{path:.+}", self._file),
            ]
        )
        return app

    @web.middleware
    async def _watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        number = len(self.calls)
        self.calls.append(f"{request.method} {request.path}")
        if self._failing and self._failing[0] == number:
            status, self._failing = self._failing[1], None
            return _error(status, "Injected", "injected by the test")
        name = "/".join(request.match_info.get(part, "") for part in ("org", "name")).removesuffix(".git")
        repo = self.repos.get(name)
        signed = request.headers.get("Authorization") == f"Bearer {TOKEN}"
        if request.method not in {"GET", "HEAD"} and not signed and not request.path.startswith("/lfs"):
            return _error(401, "", "Invalid credentials")
        if len(name) > 1 and (repo is None or (repo.private and not signed)):
            return _error(404 if signed else 401, "RepoNotFound", "Repository not found")
        return await handler(request)

    def _repo(self, request: web.Request) -> Repo:
        return self.repos[f"{request.match_info['org']}/{request.match_info['name'].removesuffix('.git')}"]

    async def _whoami(self, request: web.Request) -> web.Response:
        return web.json_response({"type": "user", "name": "user", "orgs": [{"name": "org"}]})

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        name = f"{body.get('organization') or 'user'}/{body['name']}"
        told = {"url": f"{self.url}/datasets/{name}", "name": name, "id": name}
        if name in self.repos:
            return web.json_response(told | {"error": "You already created this dataset repo"}, status=409)
        self.repos[name] = Repo(private=_is_private(body))
        self.repos[name].commit({".gitattributes": b""})
        return web.json_response(told)

    async def _validate(self, _request: web.Request) -> web.Response:
        return web.json_response({"errors": [], "warnings": []})

    async def _info(self, request: web.Request) -> web.Response:
        repo = self._repo(request)
        sha = repo.resolve(request.match_info.get("revision", "main"))
        if sha is None:
            return _error(404, "RevisionNotFound", "Invalid rev id")
        name = f"{request.match_info['org']}/{request.match_info['name']}"
        files = [{"rfilename": path} for path in sorted(repo.commits[sha])]
        return web.json_response(
            {"id": name, "sha": sha, "private": repo.private, "tags": [], "siblings": files, "gated": False}
        )

    async def _settings(self, request: web.Request) -> web.Response:
        private = _is_private(await request.json())
        self._repo(request).private = private
        return web.json_response({"private": private})

    async def _refs(self, request: web.Request) -> web.Response:
        repo = self._repo(request)
        found = {
            kind: [{"name": name, "ref": f"refs/{ref}/{name}", "targetCommit": sha} for name, sha in refs.items()]
            for kind, ref, refs in (("branches", "heads", repo.branches), ("tags", "tags", repo.tags))
        }
        return web.json_response(found | {"converts": []})

    async def _tag(self, request: web.Request) -> web.Response:
        repo, body = self._repo(request), await request.json()
        sha = repo.resolve(request.match_info["revision"])
        if body["tag"] in repo.tags:
            return _error(409, "", "Tag reference exists already")
        if sha is None:
            return _error(404, "RevisionNotFound", "Invalid rev id")
        repo.tags[body["tag"]] = sha
        return web.json_response({})

    async def _preupload(self, request: web.Request) -> web.Response:
        body = await request.json()
        modes = [
            {
                "path": one["path"],
                "uploadMode": "lfs" if one["path"].endswith(".parquet") else "regular",
                "shouldIgnore": False,
            }
            for one in body["files"]
        ]
        return web.json_response({"files": modes})

    async def _batch(self, request: web.Request) -> web.Response:
        objects = []
        for one in (await request.json())["objects"]:
            oid = one["oid"]
            upload = {"href": f"{self.url}/lfs/{oid}"}
            there = {"oid": oid, "size": one["size"], "authenticated": True}
            wanted = {"actions": {"upload": upload, "verify": {"href": f"{upload['href']}/verify"}}}
            objects.append(there if oid in self.objects else there | wanted)
        return web.json_response({"transfer": "basic", "objects": objects})

    async def _store(self, request: web.Request) -> web.Response:
        data = await request.read()
        if hashlib.sha256(data).hexdigest() != request.match_info["oid"]:
            return web.Response(status=400)
        self.objects[request.match_info["oid"]] = data
        return web.Response()

    async def _verify(self, request: web.Request) -> web.Response:
        return web.json_response({}, status=200 if request.match_info["oid"] in self.objects else 404)

    async def _commit(self, request: web.Request) -> web.Response:
        repo = self._repo(request)
        sha = repo.resolve(request.match_info["revision"])
        if sha is None:
            return _error(404, "RevisionNotFound", "Invalid rev id")
        tree = dict(repo.commits[sha])
        for line in (await request.text()).splitlines():
            operation = json.loads(line)
            value = operation["value"]
            match operation["key"]:
                case "file":
                    tree[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    tree[value["path"]] = self.objects[value["oid"]]
                case "deletedFile":
                    tree.pop(value["path"], None)
        made = repo.commit(tree)
        url = f"{self.url}/datasets/{request.match_info['org']}/{request.match_info['name']}/commit/{made}"
        return web.json_response({"success": True, "commitOid": made, "commitUrl": url})

    async def _paths(self, request: web.Request) -> web.Response:
        repo = self._repo(request)
        tree = repo.commits[repo.resolve(request.match_info["revision"]) or ""]
        body = await request.json() if request.content_type == "application/json" else await request.post()
        paths = body["paths"] if isinstance(body["paths"], list) else [body["paths"]]
        return web.json_response([_entry(path, tree[path]) for path in paths if path in tree])

    async def _tree(self, request: web.Request) -> web.Response:
        repo = self._repo(request)
        sha = repo.resolve(request.match_info["revision"])
        if sha is None:
            return _error(404, "RevisionNotFound", "Invalid rev id")
        prefix = request.match_info.get("path", "").strip("/")
        below = {p: data for p, data in repo.commits[sha].items() if not prefix or p.startswith(prefix + "/")}
        if prefix and not below:
            return _error(404, "EntryNotFound", "no such folder")
        folders = {"/".join(parts[:n]) for p in below for parts in [p.split("/")] for n in range(1, len(parts))}
        entries = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": p} for p in folders if p != prefix]
        entries += [_entry(p, data) for p, data in below.items()]
        if request.query.get("recursive", "false").lower() not in ("true", "1"):
            depth = prefix.count("/") + 1 if prefix else 0
            entries = [one for one in entries if str(one["path"]).count("/") == depth]
        return web.json_response(sorted(entries, key=lambda one: str(one["path"])))

    async def _file(self, request: web.Request) -> web.Response:
        repo = self._repo(request)
        sha = repo.resolve(request.match_info["revision"])
        if sha is None:
            return _error(404, "RevisionNotFound", "Invalid rev id")
        data = repo.commits[sha].get(request.match_info["path"])
        if data is None:
            return _error(404, "EntryNotFound", "Entry not found", commit=sha)
        digest = hashlib.sha256(data).hexdigest()
        headers = {"ETag": f'"{digest}"', "X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        part = request.http_range
        if request.headers.get("Range") and request.method == "GET":
            start, stop = part.start or 0, min(part.stop or len(data), len(data))
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
            return web.Response(status=206, body=data[start:stop], headers=headers)
        return web.Response(body=data, headers=headers)


def _is_private(body: dict[str, Any]) -> bool:
    return bool(body.get("private", body.get("visibility") == "private"))


def _entry(path: str, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    entry = {"type": "file", "oid": hashlib.sha1(data).hexdigest(), "size": len(data), "path": path}
    lfs = {"lfs": {"oid": digest, "size": len(data), "pointerSize": 130}}
    return entry | (lfs if path.endswith(".parquet") else {})


def _error(status: int, code: str, message: str, commit: str = "") -> web.Response:
    headers = {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {})
    headers |= {"X-Repo-Commit": commit} if commit else {}
    return web.json_response({"error": message}, status=status, headers=headers)


@contextmanager
def running_hub() -> Iterator[FakeHub]:
    hub = FakeHub()
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()
    started = threading.Event()

    async def serve() -> None:
        runner = web.AppRunner(hub.application(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        hub.url = f"http://{host}:{port}"
        started.set()
        await stopping.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()], daemon=True)
    thread.start()
    started.wait()
    try:
        yield hub
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join()
        loop.close()
