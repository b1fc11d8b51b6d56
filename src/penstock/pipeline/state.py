"""The state of a pipeline: its document, its hash and its stored text, all in the format of dlt."""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

import orjson

from penstock.errors import UnsupportedVersion
from penstock.interfaces import StateInfo
from penstock.package.typed_json import from_typed, to_typed
from penstock.schema.frozen_map import thaw

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.package import Manifest
    from penstock.package.extract_manifest import ExtractManifest

ENGINE_VERSION = 4
# No state is larger when decompressed; without a limit a small text could fill the memory.
_MAX_BYTES = 64 * 1024 * 1024
_LOCAL, _SOURCES = "_local", "sources"
ENGINE_KEYS = frozenset(
    (
        *("_state_version", "_state_engine_version", "_version_hash", "pipeline_name", "dataset_name"),
        *("default_schema_name", "schema_names", "destination_type", "destination_name"),
    )
)
"""The keys that every load writes."""
_NOT_HASHED = frozenset(("_state_version", "_state_engine_version", "_version_hash", "_local"))

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StateInjectableContext:
    """The state that sources of the calling thread read and change.

    >>> StateInjectableContext(state={"sources": {}}).state["sources"]
    {}
    """

    state: dict[str, Any]


class TPipelineState(TypedDict, total=False):
    """The state of a pipeline as users see it. `sources`, `_local` and keys of users may be changed."""

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


def new_state(
    *,
    pipeline_name: str,
    dataset_name: str,
    schema_name: str,
    destination_type: str,
    destination_name: str | None = None,
) -> State:
    """Return the state of a pipeline that has not run yet."""
    return {
        "_state_version": 0,
        "_state_engine_version": ENGINE_VERSION,
        "pipeline_name": pipeline_name,
        "dataset_name": dataset_name,
        "default_schema_name": schema_name,
        "schema_names": [schema_name],
        "destination_type": destination_type,
        "destination_name": destination_name,
        "sources": {},
    }


def state_hash(state: State) -> str:
    """Return the hash of everything except version, hash and local values.

    >>> state_hash({"a": 1})
    'qUO6oIfrr72iSQcxy+mqkXCPC2a9QFUVDoFP50zmHEo='
    """
    content = {key: value for key, value in state.items() if key not in _NOT_HASHED}
    text = orjson.dumps(to_typed(content), option=orjson.OPT_SORT_KEYS)
    return base64.b64encode(hashlib.sha3_256(text).digest()).decode()


def with_version(state: State) -> State:
    """Return the state with its hash; the version is incremented if the content has changed."""
    digest = state_hash(state)
    if digest == state.get("_version_hash"):
        return state
    return {**state, "_state_version": state["_state_version"] + 1, "_version_hash": digest}


def encode_state(state: State) -> str:
    """Return the text of the `state` column, without local values.

    >>> encode_state({"a": 1})
    'eNqrVkpUsjKsBQAIKgIJ'
    """
    shared = {key: value for key, value in state.items() if key != "_local"}
    return base64.b64encode(zlib.compress(orjson.dumps(to_typed(shared)), level=9)).decode()


def state_row(manifest: Manifest) -> StateInfo:
    """Return the row of the state after a load."""
    state = dict(manifest.state)
    return StateInfo(
        version=state["_state_version"],
        engine_version=ENGINE_VERSION,
        pipeline_name=manifest.pipeline_name,
        state=encode_state(state),
        created_at=datetime.fromtimestamp(float(manifest.load_id), UTC),
        version_hash=state["_version_hash"],
        _dlt_load_id=manifest.load_id,
    )


def decode_state(text: str) -> State:
    """Read the `state` column: compressed, or plain JSON as old releases of dlt wrote it."""
    if text.startswith("{"):
        document: State = orjson.loads(text)
    else:
        unpacker = zlib.decompressobj()
        document = orjson.loads(unpacker.decompress(base64.b64decode(text), _MAX_BYTES))
    if document.get("_state_engine_version", ENGINE_VERSION) > ENGINE_VERSION:
        version = str(document["_state_engine_version"])
        raise UnsupportedVersion(what="the pipeline state", has=version, supports=f"up to {ENGINE_VERSION}")
    state: State = from_typed(document)
    return state


def user_values(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of users beside `sources` and `_local`.

    >>> user_values({"_state_version": 1, "sources": {}, "page": 7})
    {'page': 7}
    """
    return {key: value for key, value in state.items() if key not in {*ENGINE_KEYS, _LOCAL, _SOURCES}}


def with_user_values(state: State, values: Mapping[str, Any]) -> State:
    """Return the state with other keys of users.

    >>> with_user_values({"sources": {}, "page": 7}, {"until": 9})
    {'sources': {}, 'until': 9}
    """
    others = user_values(state)
    return {**{key: value for key, value in state.items() if key not in others}, **values}


def state_after_package(state: State, extracted: ExtractManifest) -> State:
    """Return the state after a package: with the state of its source and the name of its schema.

    The result can be written as JSON. Other sources are unchanged: a package that was pending may have older
    states of them. A package without a state leaves that of its source unchanged too.
    """
    name, names = extracted.schema_name, state["schema_names"]
    schema_names = names if name in names else [*names, name]
    sources = dict(state.get("sources", {}))
    if extracted.state is not None:
        sources.pop(name, None)
        if name in extracted.state:
            sources[name] = thaw(extracted.state[name])
    if extracted.user_values is not None:
        state = with_user_values(state, thaw(extracted.user_values))
    updated: State = to_typed({**state, "schema_names": schema_names, "sources": sources})
    return updated
