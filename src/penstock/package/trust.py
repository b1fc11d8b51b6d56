"""Decides whether put-if-absent of a storage is atomic.

A table names the stores that check the condition themselves. A trial of two writes can only refute it: made
one after the other, they cannot distinguish an atomic store from a client that checks first and then writes.
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
    "file": "the file system creates a hard link atomically",
    "memory": "one process, one dictionary",
    "s3": "Amazon S3 checks If-None-Match atomically",
    "gs": "the store checks a generation of zero as a condition",
    "abfs": "the store checks If-None-Match as a condition",
}
"""Protocols with an atomic put-if-absent, with the reason."""

_PROTOCOL_ALIASES = {"local": "file", "s3a": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs", "adl": "abfs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whether a storage is trusted, with the reason."""

    trusted: bool
    reason: str


def known_trust(storage: FileStorage) -> Trust:
    """Return the trust by the table; nothing is written."""
    protocol = _protocol(storage)
    reason = TRUSTED_PROTOCOLS.get(protocol)
    if reason is None:
        return Trust(trusted=False, reason=f"the protocol {protocol!r} is not trusted")
    if protocol != "s3":
        return Trust(trusted=True, reason=reason)
    return _s3_trust(storage)


def probed_trust(storage: FileStorage) -> Trust:
    """Return the trust by the table, refuted when a trial writes the same name twice."""
    trust = known_trust(storage)
    if not trust.trusted:
        return trust
    name = f"{_TRIAL_FOLDER}/{uuid.uuid4().hex}"
    try:
        first, second = (storage.put_if_absent(name, uuid.uuid4().bytes) for _ in range(2))
    except (StorageNotReachable, StorageFull):
        raise  # transient errors prove nothing
    except (OSError, NotImplementedError, TypeError, ValueError) as error:
        return Trust(trusted=False, reason=f"a trial failed: {error}")
    finally:
        storage.delete_file(name)
    if first and not second:
        return trust
    return Trust(trusted=False, reason="a trial wrote the same name twice")


def require_trust(storage: FileStorage) -> None:
    """Refuse a storage on which two runs could both decide the same load."""
    trust = probed_trust(storage)
    if not trust.trusted:
        raise StorageNotTrusted(path=storage.root, reason=trust.reason)


def _protocol(storage: FileStorage) -> str:
    protocol = storage.file_system.protocol
    name = protocol if isinstance(protocol, str) else protocol[0]
    return _PROTOCOL_ALIASES.get(name, name)


def _s3_trust(storage: FileStorage) -> Trust:
    """Trust Amazon by its address, and another server if the user declares it.

    The `Server` header of a reply proves nothing: other servers send the same.
    """
    host = urlsplit(_s3_endpoint(storage.file_system)).hostname
    if host and re.search(r"(^|\.)amazonaws\.com(\.cn)?$", host):
        return Trust(trusted=True, reason=TRUSTED_PROTOCOLS["s3"])
    if storage.conditional_writes:
        return Trust(trusted=True, reason=f"conditional_writes is set for the S3 server at {host}")
    return Trust(trusted=False, reason=f"the S3 server at {host} is not Amazon's")


def _s3_endpoint(file_system: Any) -> str:
    """Return the effective endpoint: environment and profiles may override the arguments."""
    file_system.connect()
    return str(file_system._s3.meta.endpoint_url)  # noqa: SLF001 - not exposed otherwise
