"""An S3 server on loopback, and the environment that points at it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow.fs
import pytest
from moto.server import ThreadedMotoServer

BUCKET = "bucket"


@contextmanager
def running_s3() -> Iterator[str]:
    """Yields the server's address; the bucket is there."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        system = pyarrow.fs.S3FileSystem(
            access_key="id",
            secret_key="key",
            scheme="http",
            region="us-east-1",
            endpoint_override=f"{host}:{port}",
            allow_bucket_creation=True,
        )
        system.create_dir(BUCKET)
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def point_at(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "key",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
