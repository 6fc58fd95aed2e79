"""The file system a warehouse stands on: this machine's, or one that Spark reaches through Hadoop.

Only what the warehouse needs, and one thing no two writers can both do: give a complete file its name.
Names are relative to the warehouse, with "/" between folders.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit
from uuid import uuid4

EXCLUSIVE = frozenset({"file", "hdfs", "viewfs", "ofs", "abfs", "abfss"})
"""The file systems on which a rename that would overwrite fails, at once and for all who try."""


class StoreError(Exception):
    """The file system refused; the message is a sentence."""


class Store(Protocol):
    """The files of a warehouse. What an operating system refuses is raised as StoreError."""

    def uri(self, name: str) -> str:
        """Give the URI by which Spark knows the file or folder `name`."""

    def names(self, folder: str) -> list[str]:
        """List what is in `folder`, sorted; nothing when it is not there."""

    def read(self, name: str) -> bytes | None:
        """Read the file `name`; None when it is not there."""

    def create(self, name: str, content: bytes) -> bool:
        """Make the file `name` appear whole; False, and nothing is changed, when there is one already.

        Its folder is made when it is missing.
        """

    def remove(self, name: str) -> None:
        """Remove a file or a folder with all that is in it, if it is there."""

    def changed(self, name: str) -> float:
        """Say when the file or folder was last changed, in seconds, by the file system's own clock.

        Of one that has gone meanwhile: infinitely late.
        """


def store_at(path: str) -> Store:
    """Open the store for the warehouse at `path`, a path of this machine or a URI that Hadoop knows."""
    parts = urlsplit(path)
    if len(parts.scheme) < 2:  # a single letter is a drive
        return LocalStore(Path(path))
    if parts.scheme == "file":
        return LocalStore(Path(unquote(parts.path)))
    return HadoopStore(path)


class LocalStore:
    """A folder of this machine, or one that it has mounted."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def uri(self, name: str) -> str:
        return f"file://{self._root / name}"  # not as_uri: Hadoop takes a percent sign as it is

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self._root / folder))  # noqa: PTH208 - names, not paths
        except FileNotFoundError:
            return []
        except OSError as failure:
            raise _refused(folder, failure) from None

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise _refused(name, failure) from None

    def create(self, name: str, content: bytes) -> bool:
        path = self._root / name
        unfinished = path.with_name(_unfinished())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(unfinished, path)  # unlike a rename it never overwrites
            except FileExistsError:
                return False
            finally:
                unfinished.unlink()
            _sync(path.parent)
        except OSError as failure:
            raise _refused(name, failure) from None
        return True

    def remove(self, name: str) -> None:
        path = self._root / name
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except FileNotFoundError:
            pass  # somebody else is cleaning up as well
        except OSError as failure:
            raise _refused(name, failure) from None

    def changed(self, name: str) -> float:
        try:
            return (self._root / name).stat().st_mtime
        except FileNotFoundError:
            return float("inf")


class HadoopStore:
    """A file system that the running Spark session reaches through Hadoop, at `uri`."""

    def __init__(self, uri: str) -> None:
        self._root = uri.rstrip("/")

    def uri(self, name: str) -> str:
        return f"{self._root}/{name}"

    def names(self, folder: str) -> list[str]:
        with _hadoop(self.uri(folder)) as hadoop:
            return sorted(hadoop.names()) if hadoop.exists() else []

    def read(self, name: str) -> bytes | None:
        with _hadoop(self.uri(name)) as hadoop:
            return hadoop.read() if hadoop.exists() else None

    def create(self, name: str, content: bytes) -> bool:
        scheme = urlsplit(self._root).scheme
        if scheme not in EXCLUSIVE:
            raise StoreError(
                f"{self._root}: on {scheme} two writers could overwrite each other's work, "
                "so a warehouse there can be read but not written"
            )
        with _hadoop(self.uri(f"{name.rpartition('/')[0]}/{_unfinished()}")) as unfinished:
            unfinished.write(content)
            if unfinished.rename(self.uri(name)):
                return True
            unfinished.delete()
            return False

    def remove(self, name: str) -> None:
        with _hadoop(self.uri(name)) as hadoop:
            hadoop.delete()

    def changed(self, name: str) -> float:
        with _hadoop(self.uri(name)) as hadoop:
            return hadoop.changed() if hadoop.exists() else float("inf")


@contextmanager
def _hadoop(uri: str) -> Iterator[_Hadoop]:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    try:
        yield _Hadoop(uri)
    except Py4JJavaError as failure:
        told = str(failure.java_exception.getMessage()).splitlines()[0]
        raise StoreError(f"{uri}: the file system refuses ({told})") from None


class _Hadoop:
    """One name, through the FileContext of the running session's virtual machine."""

    def __init__(self, uri: str) -> None:
        from pyspark import SparkContext

        running: Any = SparkContext._active_spark_context
        if running is None:
            raise StoreError(f"{uri}: only a running Spark session reaches this file system")
        self._array = running._gateway.new_array
        self._fs = running._jvm.org.apache.hadoop.fs
        self._jvm = running._jvm
        self._path = self._fs.Path(uri)
        at = running._jvm.java.net.URI.create(uri)
        self._context = self._fs.FileContext.getFileContext(at, running._jsc.hadoopConfiguration())

    def exists(self) -> bool:
        return bool(self._context.util().exists(self._path))

    def names(self) -> list[str]:
        return [status.getPath().getName() for status in self._context.util().listStatus(self._path)]

    def read(self) -> bytes:
        stream = self._context.open(self._path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, content: bytes) -> None:
        """Create the file, and its folder, and make sure its content is on the disk."""
        option = getattr(self._fs, "Options$CreateOpts")
        flags = self._jvm.java.util.EnumSet.of(self._fs.CreateFlag.CREATE)
        stream = self._context.create(self._path, flags, self._varargs(option, option.createParent()))
        try:
            stream.write(content)
            stream.hsync()
        finally:
            stream.close()

    def rename(self, to: str) -> bool:
        """Give the file another name; False when that is taken."""
        from py4j.protocol import Py4JJavaError

        option = getattr(self._fs, "Options$Rename")
        try:
            self._context.rename(self._path, self._fs.Path(to), self._varargs(option, option.NONE))
        except Py4JJavaError as failure:
            if failure.java_exception.getClass().getName().endswith("FileAlreadyExistsException"):
                return False
            raise
        return True

    def delete(self) -> None:
        if self.exists():
            self._context.delete(self._path, True)

    def changed(self) -> float:
        return float(self._context.getFileStatus(self._path).getModificationTime()) / 1000

    def _varargs(self, kind: Any, value: Any) -> Any:
        array = self._array(kind, 1)
        array[0] = value
        return array


def _unfinished() -> str:
    """Make up a name that no reader looks for, and no other writer has."""
    return f"_{uuid4().hex}"


def _sync(folder: Path) -> None:
    """Make sure that the names in `folder` are on the disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _refused(name: str, failure: OSError) -> StoreError:
    return StoreError(f"{failure.filename or name}: {(failure.strerror or str(failure)).lower()}")
