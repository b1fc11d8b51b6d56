"""The folder that files are read from, with its file system and credentials for Python and Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import fsspec
from fsspec.implementations.local import LocalFileSystem

from penstock.config import AwsCredentials, AzureCredentialsBase, GcpCredentials, SFTPCredentials
from penstock.errors import MissingExtra, UsageError
from penstock.package.object_files import translate_store_errors
from penstock.spark.paths import local_path, spark_path
from penstock.spark.s3 import s3_bucket, s3_needs, s3a_conf, s3fs_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Characters that Hadoop reads as patterns, to escape in the names of files.
_HADOOP_PATTERN: Final = re.compile(r"([\\{}\[\]*?])")


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLocation:
    """A folder on a disk or in a bucket."""

    root: str
    """The URL or path, without a trailing slash."""
    fs_root: str
    """The same folder as a path of the file system."""
    file_system: Any = field(repr=False)
    credentials: AwsCredentials | None = None
    unsupported_options: tuple[str, ...] = ()
    """Options of s3fs that Spark does not support."""

    @classmethod
    def of(
        cls,
        bucket_url: str,
        credentials: Any = None,
        *,
        kwargs: dict[str, Any] | None = None,
        client_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Return the location of a URL. `credentials` may be an open file system of fsspec.

        Credentials of Google Cloud, Azure and SFTP apply to Python only: Spark has its own configuration.
        """
        if not bucket_url:
            raise UsageError("bucket_url is empty", hint="set bucket_url to the folder of the files")
        local = local_path(bucket_url)
        root = (str(local.absolute()) if local is not None else bucket_url).rstrip("/") or "/"
        if isinstance(credentials, fsspec.AbstractFileSystem):
            positional = {"positional arguments": True} if credentials.storage_args else {}
            options = {**credentials.storage_options, **positional}
            return cls._from_file_system(root, credentials, None, options)
        login = _fsspec_login(credentials)
        keys = None if login else _aws_credentials(credentials)
        options = {**s3fs_options(root, keys), **login, **(kwargs or {})}
        if client_kwargs:
            options["client_kwargs"] = {**options.get("client_kwargs", {}), **client_kwargs}
        try:
            system, _ = fsspec.core.url_to_fs(root, **options)
        except ImportError as error:
            extra = "s3" if s3_bucket(root) else "fsspec"
            raise MissingExtra(extra=extra, needed_for=f"reading {root.partition('://')[0]}://") from error
        user_options = {**(kwargs or {}), **({"client_kwargs": client_kwargs} if client_kwargs else {})}
        return cls._from_file_system(root, system, keys, user_options)

    @classmethod
    def _from_file_system(
        cls, root: str, file_system: Any, credentials: AwsCredentials | None, options: Mapping[str, Any]
    ) -> Self:
        """Return a folder of an open file system, with credentials for Spark from its options."""
        unsupported: tuple[str, ...] = ()
        if s3_bucket(root):
            credentials, unsupported = credentials_from_s3fs(options, credentials)
        return cls(
            root=root,
            fs_root=_fs_root(file_system, root),
            file_system=file_system,
            credentials=credentials,
            unsupported_options=unsupported,
        )

    @property
    def is_local(self) -> bool:
        """Whether the folder is on a disk of this machine."""
        return isinstance(self.file_system, LocalFileSystem)

    @property
    def needs(self) -> tuple[str, ...]:
        """The presets that a Spark session needs to read the folder."""
        return s3_needs(self.root)

    @property
    def hadoop_conf(self) -> dict[str, str]:
        """The configuration that Spark needs to read the folder, with secrets."""
        if self.unsupported_options:
            raise UsageError(
                f"Spark does not support {', '.join(self.unsupported_options)} to read {self.root}",
                hint="use credentials: keys, profile_name, region_name, endpoint_url, s3_url_style",
            )
        return s3a_conf(self.root, self.credentials)

    def fs_path(self, path: str) -> str:
        """Return the path of a file in the file system."""
        return f"{self.fs_root}/{path}"

    def url(self, path: str) -> str:
        """Return the URL of a file."""
        if self.is_local:
            return Path(self.fs_path(path)).as_uri()
        return f"{self.root}/{path}"

    def spark_path(self, path: str) -> str:
        """Return the path of a file for Spark, with pattern characters escaped."""
        return _HADOOP_PATTERN.sub(r"\\\1", spark_path(f"{self.root}/{path}"))

    def read_bytes(self, path: str) -> bytes:
        """Return the bytes of a file."""
        with translate_store_errors(self.url(path)):
            content: bytes = self.file_system.cat_file(self.fs_path(path))
        return content

    def __repr__(self) -> str:
        return f"FolderLocation({self.root!r})"


def _fs_root(file_system: Any, root: str) -> str:
    return str(file_system._strip_protocol(root)).rstrip("/")  # noqa: SLF001 - fsspec has no public function for it


def _fsspec_login(credentials: Any) -> dict[str, Any]:
    """Return the arguments with which the file system of a cloud or a server logs in, apart from S3."""
    match credentials:
        case GcpCredentials():
            arguments = credentials.to_gcs_credentials()
        case AzureCredentialsBase():
            arguments = credentials.to_adlfs_credentials()
        case SFTPCredentials():
            arguments = credentials.to_fsspec_credentials()
        case _:
            return {}
    return {name: value for name, value in arguments.items() if value is not None}


def _aws_credentials(credentials: Any) -> AwsCredentials | None:
    match credentials:
        case None | AwsCredentials():
            return credentials
        case dict():
            return AwsCredentials(**credentials)
        case _:
            raise UsageError(
                f"{type(credentials).__name__} is not a type of credentials for files",
                hint="pass AwsCredentials or a dict with their fields, credentials of Google Cloud, Azure or "
                "SFTP, or a file system of fsspec",
            )


_CLIENT_KWARGS: Final = "client_kwargs"
_CREDENTIAL_FIELDS: Final = {
    "key": "aws_access_key_id",
    "username": "aws_access_key_id",
    "secret": "aws_secret_access_key",
    "password": "aws_secret_access_key",
    "token": "aws_session_token",
    "profile": "profile_name",
    "endpoint_url": "endpoint_url",
}
_CLIENT_CREDENTIAL_FIELDS: Final = frozenset(AwsCredentials.model_fields) - {
    "profile_name",
    "s3_url_style",
    "conditional_writes",
}
# Options for listing and reading in Python, which do not concern Spark.
_PYTHON_ONLY_OPTIONS: Final = frozenset({
    *("use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache", "asynchronous"),
    *("default_block_size", "default_fill_cache", "default_cache_type", "max_concurrency", "cache_regions"),
    *("fixed_upload_size", "loop", "batch_size", "version_aware"),
})  # fmt: skip

_DEFAULTS: Final = (("anon", False), ("use_ssl", True), ("requester_pays", False))


def credentials_from_s3fs(
    options: Mapping[str, Any], credentials: AwsCredentials | None
) -> tuple[AwsCredentials | None, tuple[str, ...]]:
    """Return credentials with the options of s3fs merged in, and the names of unsupported options.

    >>> credentials_from_s3fs({"endpoint_url": "http://localhost:9000", "anon": True}, None)
    (AwsCredentials(endpoint_url='http://localhost:9000'), ('anon',))
    """
    fields: dict[str, Any] = {}
    unsupported: list[str] = []
    for name, credential_field, value in _flat_options(options):
        if credential_field is not None:
            fields[credential_field] = value
        elif name not in _PYTHON_ONLY_OPTIONS and (name, value) not in _DEFAULTS:
            unsupported.append(name)
    if fields:
        credentials = AwsCredentials(
            **{**(credentials.to_native_representation() if credentials else {}), **fields}
        )
    return credentials, tuple(unsupported)


def _flat_options(options: Mapping[str, Any]) -> Iterator[tuple[str, str | None, Any]]:
    """Yield each option: its name, its field of the credentials if any, and its value."""
    for name, value in options.items():
        if name == _CLIENT_KWARGS:
            for inner, client_value in (value or {}).items():
                credential_field = inner if inner in _CLIENT_CREDENTIAL_FIELDS else None
                yield f"{_CLIENT_KWARGS}.{inner}", credential_field, client_value
        elif value is not None:
            yield name, _CREDENTIAL_FIELDS.get(name), value
