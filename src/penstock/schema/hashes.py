"""The fingerprint of a schema, the same that dlt computes, and the count of its changes."""

from __future__ import annotations

import base64
from dataclasses import replace
from hashlib import sha3_256
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from penstock.schema.stored_schema import StoredSchema

MAX_PREVIOUS_HASHES: Final = 10
_VERSION_KEYS: Final = ("version", "version_hash", "imported_version_hash", "previous_hashes")


def content_hash(stored: StoredSchema) -> str:
    """Hash what the schema says, leaving out its own version and history.

    The order of tables does not matter; the order of columns does, because destinations keep it.
    """
    document = stored.to_dict()
    content = {key: value for key, value in document.items() if key not in _VERSION_KEYS}
    digest = sha3_256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))
    for name in sorted(stored.tables):
        digest.update(name.encode())
        for column in stored.tables[name].columns:
            digest.update(column.encode())
    return base64.b64encode(digest.digest()).decode("ascii")


def stamp_version(stored: StoredSchema, *, previous: StoredSchema | None) -> StoredSchema:
    """Stamp version, hash and history on `stored`, as the successor of `since`.

    However many changes lie between, the version grows by one, and not at all when the content is the same. A
    schema that was never stored has version 1 and no history.
    """
    now = content_hash(stored)
    if previous is None:
        return replace(stored, version=1, version_hash=now, previous_hashes=())
    if now == previous.version_hash:
        return replace(
            stored, version=previous.version, version_hash=now, previous_hashes=previous.previous_hashes
        )
    history = previous.previous_hashes
    if previous.version_hash not in history:
        history = (previous.version_hash, *history)[:MAX_PREVIOUS_HASHES]
    return replace(stored, version=previous.version + 1, version_hash=now, previous_hashes=history)
