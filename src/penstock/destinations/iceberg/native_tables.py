"""Iceberg tables by path, opened by the library `pyiceberg`, without Spark."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import MissingDependencyException, PackageDamaged
from penstock.spark.s3 import s3_bucket

if TYPE_CHECKING:
    from penstock.config import AwsCredentials
    from penstock.package.storage import FileStorage

_METADATA_FILE: Final = re.compile(r"v(\d+)(\.gz)?\.metadata\.json")
_METADATA_FOLDER: Final = "metadata"


def open_iceberg_table(
    table: str, store: FileStorage, credentials: AwsCredentials | None, *, needed_for: str
) -> Any:
    """Open a table of a dataset at its newest version, as a `StaticTable`, which cannot be changed."""
    try:
        library = import_module("pyiceberg.table")
    except ModuleNotFoundError as error:
        raise MissingDependencyException(needed_for, ("pyiceberg",)) from error
    folder = f"{table}/{_METADATA_FOLDER}"
    newest = newest_metadata(store.names(folder))
    if newest is None:
        raise PackageDamaged(path=store.path(folder), reason="it has no metadata file")
    return library.StaticTable.from_metadata(
        store.path(f"{folder}/{newest}"), file_properties(store.root, credentials)
    )


def newest_metadata(names: list[str]) -> str | None:
    """Return the metadata file with the highest version.

    >>> newest_metadata(["v9.metadata.json", "v10.gz.metadata.json", "version-hint.text"])
    'v10.gz.metadata.json'
    """
    versions = {int(match[1]): name for name in names if (match := _METADATA_FILE.fullmatch(name))}
    return versions[max(versions)] if versions else None


def file_properties(location: str, credentials: AwsCredentials | None) -> dict[str, str]:
    """Return the properties with which pyiceberg opens files, on S3 with the keys of the settings.

    >>> from penstock.config import AwsCredentials
    >>> file_properties("s3://lake", AwsCredentials(region_name="eu-west-1", endpoint_url="http://store:9000"))
    {'s3.region': 'eu-west-1', 's3.endpoint': 'http://store:9000'}
    """
    if s3_bucket(location) is None or credentials is None:
        return {}
    values = {
        "s3.access-key-id": credentials.aws_access_key_id,
        "s3.secret-access-key": credentials.aws_secret_access_key,
        "s3.session-token": credentials.aws_session_token,
        "s3.profile-name": credentials.profile_name,
        "s3.region": credentials.region_name,
        "s3.endpoint": credentials.endpoint_url,
    }
    return {name: str(value) for name, value in values.items() if value is not None}
