"""The state of a pipeline: its document, its hash and the text it is stored as, all in dlt's form."""

from __future__ import annotations

import base64
import hashlib
import zlib
from typing import TYPE_CHECKING, Any, TypedDict

import orjson

from penstock.errors import UnsupportedVersion
from penstock.package.typed_json import from_typed, to_typed
from penstock.schema.frozen_map import thaw

if TYPE_CHECKING:
    from penstock.package.extract_manifest import ExtractManifest

ENGINE_VERSION = 4
# A state that unpacks to more is not a state of ours; without a limit a small text could fill the memory.
_MAX_BYTES = 64 * 1024 * 1024
_NOT_HASHED = frozenset(("_state_version", "_state_engine_version", "_version_hash", "_local"))

State = dict[str, Any]


class TPipelineState(TypedDict, total=False):
    """The state of a pipeline, as users see it. What is below `sources` and `_local` may be changed."""

    _state_version: int
    _state_engine_version: int
    _version_hash: str
    pipeline_name: str
    dataset_name: str
    default_schema_name: str
    schema_names: list[str]
    destination_type: str
    destination_name: str | None
    sources: dict[str, dict[str, Any]]
    _local: dict[str, Any]


def new_state(*, pipeline_name: str, dataset_name: str, schema_name: str, destination_type: str) -> State:
    """The state of a pipeline that has not run yet."""
    return {
        "_state_version": 0,
        "_state_engine_version": ENGINE_VERSION,
        "pipeline_name": pipeline_name,
        "dataset_name": dataset_name,
        "default_schema_name": schema_name,
        "schema_names": [schema_name],
        "destination_type": destination_type,
        "destination_name": None,
        "sources": {},
    }


def state_hash(state: State) -> str:
    """A fingerprint of everything but version, hash and local values.

    >>> state_hash({"a": 1})
    'qUO6oIfrr72iSQcxy+mqkXCPC2a9QFUVDoFP50zmHEo='
    """
    content = {key: value for key, value in state.items() if key not in _NOT_HASHED}
    text = orjson.dumps(to_typed(content), option=orjson.OPT_SORT_KEYS)
    return base64.b64encode(hashlib.sha3_256(text).digest()).decode()


def with_version(state: State) -> State:
    """The same state with its hash; the version grows by one when the content has changed."""
    digest = state_hash(state)
    if digest == state.get("_version_hash"):
        return state
    return {**state, "_state_version": state["_state_version"] + 1, "_version_hash": digest}


def encode_state(state: State) -> str:
    """The text of the `state` column; local values stay behind.

    >>> encode_state({"a": 1})
    'eNqrVkpUsjKsBQAIKgIJ'
    """
    shared = {key: value for key, value in state.items() if key != "_local"}
    return base64.b64encode(zlib.compress(orjson.dumps(to_typed(shared)), level=9)).decode()


def decode_state(text: str) -> State:
    """Read the `state` column: packed, or plain JSON as old releases of dlt wrote it."""
    if text.startswith("{"):
        document: State = orjson.loads(text)
    else:
        unpacker = zlib.decompressobj()
        document = orjson.loads(unpacker.decompress(base64.b64decode(text), _MAX_BYTES))
    if document.get("_state_engine_version", ENGINE_VERSION) > ENGINE_VERSION:
        has = str(document["_state_engine_version"])
        raise UnsupportedVersion(what="the pipeline state", has=has, supports=f"up to {ENGINE_VERSION}")
    found: State = from_typed(document)
    return found


def state_after_package(state: State, extracted: ExtractManifest) -> State:
    """The state after a package: what its source remembers, and the name of its schema.

    Everything in it can be written as JSON. Other sources are left as they are: a package that waited may
    know less of them than the state does. A package that does not know leaves its own source alone too.
    """
    name, names = extracted.schema_name, state["schema_names"]
    named = names if name in names else [*names, name]
    sources = dict(state.get("sources", {}))
    if extracted.state is not None:
        sources.pop(name, None)
        if name in extracted.state:
            sources[name] = thaw(extracted.state[name])
    plain: State = to_typed({**state, "schema_names": named, "sources": sources})
    return plain
