"""A server that speaks S3, on the loopback address, and what the environment says for reaching it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import boto3

BUCKET = "kept"
REACHED = {
    "AWS_ACCESS_KEY_ID": "anybody",
    "AWS_SECRET_ACCESS_KEY": "anything",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
    "AWS_EC2_METADATA_DISABLED": "true",  # whatever is missing is looked for nowhere else
}


@contextmanager
def serving() -> Iterator[str]:
    """Start the server, in a process of its own; gives its URL. It has one bucket."""
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = next(found[0] for line in server.stderr if (found := re.search(r"http://127[\d.:]+", line)))
        with ThreadPoolExecutor(1) as reading:
            reading.submit(server.stderr.read)
            _client(url).create_bucket(Bucket=BUCKET)
            yield url
            server.terminate()


def uploaded(url: str, folder: Path, key: str) -> str:
    """Copy a `folder` into the bucket; gives its URI there."""
    client = _client(url)
    for path in folder.rglob("*"):
        if path.is_file():
            client.upload_file(str(path), BUCKET, f"{key}/{path.relative_to(folder)}")
    return f"s3://{BUCKET}/{key}"


def _client(url: str) -> boto3.client:
    told = {name.lower(): value for name, value in REACHED.items() if "KEY" in name}
    return boto3.client("s3", endpoint_url=url, region_name=REACHED["AWS_REGION"], **told)
