"""Whether put-if-absent of a storage can be believed.

The table says which stores are known to decide it themselves. A test by writing twice can only lower the
trust: done one after the other it cannot tell a store that decides from a client that looks first and then
writes.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from penstock.errors import StorageFull, StorageNotReachable, StorageNotTrusted

if TYPE_CHECKING:
    from penstock.package.storage import FileStorage

_TRIAL_FOLDER = "trial"

TRUSTED_PROTOCOLS: Final[dict[str, str]] = {
    "file": "hard links are made by the file system, once",
    "memory": "one process, one dictionary",
    "s3": "Amazon S3 checks If-None-Match in one step",
    "gs": "a generation of zero is a condition the store checks",
    "abfs": "If-None-Match is a condition the store checks",
}
"""Protocols whose put-if-absent is decided by the store, and why."""

_PROTOCOL_ALIASES = {"local": "file", "s3a": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs", "adl": "abfs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The answer, with its reason."""

    trusted: bool
    reason: str


def known_trust(storage: FileStorage) -> Trust:
    """What the table says; nothing is written."""
    protocol = _protocol(storage)
    reason = TRUSTED_PROTOCOLS.get(protocol)
    if reason is None:
        return Trust(trusted=False, reason=f"nothing is known about {protocol!r}")
    if protocol != "s3":
        return Trust(trusted=True, reason=reason)
    return _s3_trust(storage)


def probed_trust(storage: FileStorage) -> Trust:
    """The table's answer, lowered when a trial shows that the storage does not keep its word."""
    known = known_trust(storage)
    if not known.trusted:
        return known
    name = f"{_TRIAL_FOLDER}/{uuid.uuid4().hex}"
    try:
        first, second = (storage.put_if_absent(name, uuid.uuid4().bytes) for _ in range(2))
    except (StorageNotReachable, StorageFull):
        raise  # that says nothing of the storage, and another day it may be there
    except (OSError, NotImplementedError, TypeError, ValueError) as error:
        return Trust(trusted=False, reason=f"a trial failed: {error}")
    finally:
        storage.delete(name)
    if first and not second:
        return known
    return Trust(trusted=False, reason="a trial wrote the same name twice")


def require_trust(storage: FileStorage) -> None:
    """Refuse a storage on which two runs could both decide the same load."""
    found = probed_trust(storage)
    if not found.trusted:
        raise StorageNotTrusted(path=storage.root, reason=found.reason)


def _protocol(storage: FileStorage) -> str:
    found = storage.file_system.protocol
    name = found if isinstance(found, str) else found[0]
    return _PROTOCOL_ALIASES.get(name, name)


def _s3_trust(storage: FileStorage) -> Trust:
    """Trust Amazon by its address, and another server where the user declares it.

    The name that a server sends proves nothing: others send it too.
    """
    host = urlsplit(_s3_endpoint(storage.file_system)).hostname
    if host and re.search(r"(^|\.)amazonaws\.com(\.cn)?$", host):
        return Trust(trusted=True, reason=TRUSTED_PROTOCOLS["s3"])
    if storage.conditional_writes:
        return Trust(trusted=True, reason=f"conditional_writes is set for the S3 server at {host}")
    return Trust(trusted=False, reason=f"the S3 server at {host} is not Amazon's")


def _s3_endpoint(file_system: Any) -> str:
    """Where requests really go: the environment and profiles may name another server than the arguments."""
    file_system.connect()
    return str(file_system._s3.meta.endpoint_url)  # noqa: SLF001 - nothing else tells
