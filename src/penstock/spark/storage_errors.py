"""Classification of storage and catalog errors in the text of Spark errors: transient or denied.

Classic sessions and Connect have different classes for the same Hadoop error; the text of both has its name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from penstock.config import redact
from penstock.errors import (
    DestinationTerminalException,
    DestinationTransientException,
    PackageDamaged,
    SessionLacksConf,
    StorageAccessDenied,
    StorageFull,
    StorageNotReachable,
)
from penstock.spark.presets import installed_version, preset
from penstock.spark.s3 import S3_PRESET

if TYPE_CHECKING:
    from penstock.errors import PenstockError

_NO_S3A: Final = re.compile(r'S3AFileSystem not found|No FileSystem for scheme "?s3a?"?')
# Texts of S3A and its client. Access to local files can be denied as well, but not at s3a addresses.
_ACCESS_DENIED: Final = re.compile(
    r"(?P<what>AccessDeniedException: (?=s3a://)|UnknownStoreException: |NoAuthWithAWSException: |"
    r"NoAwsCredentialsException: |AWSRedirectException: |AWSBadRequestException: |"
    r"S3Exception: (?=[^\n]*Status Code: (?:301|400|403)))(?![^\n]*RequestTimeout)(?P<why>[^\n]*)"
)
_TRANSIENT: Final = re.compile(
    r"(?P<what>(?:AWSServiceThrottled|AWSStatus500|AWSServiceIO|AWSClientIO|AWSNoResponse|AWSApiCallTimeout|"
    r"AWSS3IO|SdkClient|NoHttpResponse|ConnectTimeout|SocketTimeout|UnknownHost|Socket)Exception: |"
    r"(?:AWSBadRequest|S3)Exception: (?=[^\n]*RequestTimeout))"
    r"(?P<why>[^\n]*)"
)
# Texts of Iceberg: its catalog in a database or behind REST is unavailable. No addresses.
_CATALOG_UNAVAILABLE: Final = re.compile(
    r"UncheckedSQLException: (?P<what>Failed to connect)|"
    r"(?P<rest>(?:RESTException|ServiceUnavailableException|ServiceFailureException): [^\n]*)"
)
_NO_DRIVER: Final = "No suitable driver found"
_CAUSE: Final = re.compile(r"Caused by: [\w.]*(?:SQL\w*Exception|ConnectException): (?P<why>[^\n]*)")
# Texts of the JVM and Hadoop about disks of the driver or an executor.
_DISK_FULL: Final = re.compile(
    r"No space left on device|Disk quota exceeded|No space available in any of the local directories"
)
_DISK_FULL_PATH: Final = re.compile(
    r"(?:FileNotFoundException|FileSystemException): (?P<file>/[^\n]+?)(?: \(|: )(?:No space|Disk quota)"
    r"|while writing rows to (?P<folder>\S+?)\.?(?=\s|$)"
)
_UNKNOWN_DISK: Final = "files of Spark, on the disk of the packages, of the tables or of spark.local.dir"
# Files of a package by address, in texts of Spark.
_MISSING_FILE: Final = re.compile(
    r"(?:\[PATH_NOT_FOUND\] Path does not exist: |FILE_NOT_EXIST\][^\n]*?reading file |"
    r"FileNotFoundException: File )(?P<path>\S+?/packages/[^/\s]+/data/[^\s]*?)\.?(?=\s|$)"
)
_ADDRESS: Final = re.compile(r"s3a://[^\s:,;'\"`)]+")
_UNKNOWN_ADDRESS: Final = "the object store"
_MAX_REASON_LENGTH: Final = 300


def as_storage_error(error: BaseException) -> PenstockError | None:
    """Return the `PenstockError` for an error caused by a store or catalog; None for other errors.

    >>> text = "java.nio.file.AccessDeniedException: s3a://lake/demo: Forbidden (Status Code: 403)"
    >>> type(as_storage_error(RuntimeError(text))).__name__
    'StorageAccessDenied'
    """
    text = str(error)
    if _NO_S3A.search(text):
        version = installed_version() or ""
        return SessionLacksConf(
            destination=S3_PRESET,
            conf={"spark.jars.packages": ",".join(preset(version, S3_PRESET).coordinates)},
        )
    if disk_full := _DISK_FULL.search(text):
        disk_path = _DISK_FULL_PATH.search(text)
        return StorageFull(
            path=redact((disk_path and disk_path[disk_path.lastgroup or 0]) or _UNKNOWN_DISK),
            reason=disk_full[0],
        )
    if missing := _MISSING_FILE.search(text):
        return PackageDamaged(path=redact(missing["path"]), reason="it does not exist")
    if _CATALOG_UNAVAILABLE.search(text):
        return _catalog_error(text)
    if "s3a" not in text and "awssdk" not in text:
        return None
    denied, transient = _ACCESS_DENIED.search(text), _TRANSIENT.search(text)
    if denied is not None:
        return StorageAccessDenied(path=_address(text), reason=_reason(denied))
    if transient is not None:
        return StorageNotReachable(path=_address(text), reason=_reason(transient))
    return None


def _catalog_error(text: str) -> PenstockError:
    if _NO_DRIVER in text:
        return DestinationTerminalException(
            "Spark has no JDBC driver for the database of the catalog",
            hint="give the session its jar, such as spark.jars.packages=org.postgresql:postgresql:<version>",
        )
    cause, catalog = _CAUSE.search(text), _CATALOG_UNAVAILABLE.search(text)
    why = cause["why"] if cause else (catalog and (catalog["rest"] or catalog["what"])) or ""
    return DestinationTransientException(
        f"the catalog of the tables cannot be asked: {_shortened(why)}",
        hint="run again when it can be reached: what is in the tables is not loaded twice",
    )


def _address(text: str) -> str:
    address = _ADDRESS.search(text)
    return redact(address[0]) if address else _UNKNOWN_ADDRESS


def _reason(match: re.Match[str]) -> str:
    return _shortened(f"{match['what']}{match['why']}")


def _shortened(text: str) -> str:
    message = redact(text.strip())
    return message if len(message) <= _MAX_REASON_LENGTH else f"{message[:_MAX_REASON_LENGTH]}…"
