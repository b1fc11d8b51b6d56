"""The folder that files are read from: how Python and Spark open it, and by which keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import fsspec
from fsspec.implementations.local import LocalFileSystem

from penstock.config import AwsCredentials
from penstock.errors import MissingExtra, UsageError
from penstock.package.object_files import translate_store_errors
from penstock.sources.filesystem.s3_options import credentials_from_s3fs
from penstock.spark.paths import local_path, spark_path
from penstock.spark.s3 import s3_bucket, s3_needs, s3a_conf, s3fs_options

if TYPE_CHECKING:
    from collections.abc import Mapping

# What Hadoop reads as a pattern: a name that holds one of these is meant as it is.
_HADOOP_PATTERN: Final = re.compile(r"([\\{}\[\]*?])")


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLocation:
    """A folder on a disk or in a bucket."""

    root: str
    """Without a slash at its end."""
    fs_root: str
    """The same, as the file system names it."""
    file_system: Any = field(repr=False)
    credentials: AwsCredentials | None = None
    unsupported_options: tuple[str, ...] = ()
    """What the file system was told of S3 that Spark cannot be told."""

    @classmethod
    def of(
        cls,
        bucket_url: str,
        credentials: Any = None,
        *,
        kwargs: dict[str, Any] | None = None,
        client_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Where an address leads. `credentials` may be a file system of fsspec that is open already."""
        if not bucket_url:
            raise UsageError("there is no folder to read files from", hint="say bucket_url")
        local = local_path(bucket_url)
        root = (str(local.absolute()) if local is not None else bucket_url).rstrip("/") or "/"
        if isinstance(credentials, fsspec.AbstractFileSystem):
            unnamed = {"arguments without a name": True} if credentials.storage_args else {}
            return cls._from_file_system(root, credentials, None, {**credentials.storage_options, **unnamed})
        keys = _aws_credentials(credentials)
        options = {**s3fs_options(root, keys), **(kwargs or {})}
        if client_kwargs:
            options["client_kwargs"] = {**options.get("client_kwargs", {}), **client_kwargs}
        try:
            system, _ = fsspec.core.url_to_fs(root, **options)
        except ImportError as error:
            extra = "s3" if s3_bucket(root) else "fsspec"
            raise MissingExtra(extra=extra, needed_for=f"reading {root.partition('://')[0]}://") from error
        said = {**(kwargs or {}), **({"client_kwargs": client_kwargs} if client_kwargs else {})}
        return cls._from_file_system(root, system, keys, said)

    @classmethod
    def _from_file_system(
        cls, root: str, file_system: Any, credentials: AwsCredentials | None, options: Mapping[str, Any]
    ) -> Self:
        """A folder of an open file system; of what that was told, Spark is told what it needs."""
        untold: tuple[str, ...] = ()
        if s3_bucket(root):
            credentials, untold = credentials_from_s3fs(options, credentials)
        return cls(
            root=root,
            fs_root=_fs_root(file_system, root),
            file_system=file_system,
            credentials=credentials,
            unsupported_options=untold,
        )

    @property
    def is_local(self) -> bool:
        """Whether it stands on a disk of this machine."""
        return isinstance(self.file_system, LocalFileSystem)

    @property
    def needs(self) -> tuple[str, ...]:
        """What a session of Spark must bring to read it."""
        return s3_needs(self.root)

    @property
    def hadoop_conf(self) -> dict[str, str]:
        """What a session of Spark must be told to read it; it holds secrets."""
        if self.unsupported_options:
            raise UsageError(
                f"Spark cannot be told {', '.join(self.unsupported_options)} to read {self.root}",
                hint="say it by credentials: keys, profile_name, region_name, endpoint_url, s3_url_style",
            )
        return s3a_conf(self.root, self.credentials)

    def fs_path(self, path: str) -> str:
        """A file as the file system names it."""
        return f"{self.fs_root}/{path}"

    def url(self, path: str) -> str:
        """A file as anybody names it."""
        if self.is_local:
            return Path(self.fs_path(path)).as_uri()
        return f"{self.root}/{path}"

    def spark_path(self, path: str) -> str:
        """A file as Spark is told to read it: no character of it is a pattern."""
        return _HADOOP_PATTERN.sub(r"\\\1", spark_path(f"{self.root}/{path}"))

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a file."""
        with translate_store_errors(self.url(path)):
            found: bytes = self.file_system.cat_file(self.fs_path(path))
        return found

    def __repr__(self) -> str:
        return f"Place({self.root!r})"


def _fs_root(file_system: Any, root: str) -> str:
    return str(file_system._strip_protocol(root)).rstrip("/")  # noqa: SLF001 - fsspec's own way to read addresses


def _aws_credentials(credentials: Any) -> AwsCredentials | None:
    match credentials:
        case None | AwsCredentials():
            return credentials
        case dict():
            return AwsCredentials(**credentials)
        case _:
            raise UsageError(
                f"{type(credentials).__name__} opens no folder of files",
                hint="pass AwsCredentials, a dict with their fields, or a file system of fsspec",
            )
