"""What a pipeline knows at the start of a load: read from the ledger, so that a fresh machine goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.pipeline.state import State, decode_state, new_state
from penstock.schema import Schema, StoredSchema, naming
from penstock.schema.frozen import thaw
from penstock.schema.stored import MAX_NAME_LENGTH

if TYPE_CHECKING:
    from penstock.interfaces import Ledger
    from penstock.package.extracted import Extracted


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The schema and the state after the last complete load."""

    schema: Schema
    state: State


def restore(
    ledger: Ledger,
    *,
    pipeline_name: str,
    dataset_name: str,
    destination_type: str,
    schema_name: str | None = None,
) -> Known:
    """The last complete load's schema and state; new ones where there is none.

    Without a `schema_name` the schema is the default one: the first that was ever loaded.
    """
    stored = ledger.last_state(pipeline_name) if ledger.is_initialized() else None
    if stored is None:
        name = schema_name or naming("snake_case", MAX_NAME_LENGTH).normalize_identifier(pipeline_name)
        state = new_state(
            pipeline_name=pipeline_name,
            dataset_name=dataset_name,
            schema_name=name,
            destination_type=destination_type,
        )
    else:
        state = decode_state(stored.state)
        state["dataset_name"] = dataset_name
        name = schema_name or state["default_schema_name"]
    row = ledger.last_schema(name) if ledger.is_initialized() else None
    return Known(schema=Schema.from_dict(json.loads(row.schema)) if row else Schema(name), state=state)


def with_source_schema(schema: Schema, extracted: Extracted) -> Schema:
    """The schema with what the source says of it: its contract, its nesting, and, at first, its tables."""
    if extracted.schema is None:
        return schema
    brought = StoredSchema.from_dict(thaw(extracted.schema))
    taken = schema.clone()
    if schema.is_new:
        taken.update(brought)
        return taken
    stored = taken.stored
    said = {key: value for key, value in brought.settings.items() if key == "schema_contract"}
    json_said = {**stored.normalizers.get("json", {}), **brought.normalizers.get("json", {})}
    taken.update(stored.with_settings(**said).with_normalizers(json=json_said))
    return taken
