"""What a pipeline knows at the start of a load: read from the ledger, so that a fresh machine goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.pipeline.state import State, decode_state, new_state
from penstock.schema import Schema, naming
from penstock.schema.stored import MAX_NAME_LENGTH

if TYPE_CHECKING:
    from penstock.interfaces import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The schema and the state after the last complete load."""

    schema: Schema
    state: State


def restore(ledger: Ledger, *, pipeline_name: str, dataset_name: str, destination_type: str) -> Known:
    """The last complete load's schema and state; new ones where there is none."""
    stored = ledger.last_state(pipeline_name) if ledger.is_initialized() else None
    if stored is None:
        name = naming("snake_case", MAX_NAME_LENGTH).normalize_identifier(pipeline_name)
        state = new_state(
            pipeline_name=pipeline_name,
            dataset_name=dataset_name,
            schema_name=name,
            destination_type=destination_type,
        )
    else:
        state = decode_state(stored.state)
        state["dataset_name"] = dataset_name
        name = state["default_schema_name"]
    row = ledger.last_schema(name) if ledger.is_initialized() else None
    return Known(schema=Schema.from_dict(json.loads(row.schema)) if row else Schema(name), state=state)
