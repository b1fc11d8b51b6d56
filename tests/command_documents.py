"""Reads what commands print with `--json`, and validates it by the published schema."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from dev.command_schema import command_schema, key_of
from jsonschema import Draft202012Validator


def read_documents(command: str, output: str) -> list[dict[str, Any]]:
    """Return the objects that a command has printed; each has exactly the keys of the schema."""
    documents = [json.loads(line) for line in output.splitlines()]
    for document in documents:
        _validator(command).validate(document)
    return documents


@cache
def _validator(command: str) -> Draft202012Validator:
    schema = command_schema()
    closed = {name: _without_other_keys(definition) for name, definition in schema["$defs"].items()}
    return Draft202012Validator({**schema, "$defs": closed, "$ref": f"#/$defs/{key_of(command)}"})


def _without_other_keys(definition: dict[str, Any]) -> dict[str, Any]:
    """Refuse keys that a record does not have, unless its keys are optional: users may add some to those."""
    if "properties" in definition and len(definition["required"]) == len(definition["properties"]):
        return {**definition, "additionalProperties": False}
    return definition
