"""The command `pipeline NAME why`: the loads, paths and rules that made a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.output import print_json, print_text
from penstock.cli.pipeline_options import AsJson, PipelineRef, target_of
from penstock.errors import PipelineConfigMissing, UsageError
from penstock.normalize.row_numbers import example_place
from penstock.pipeline import late_imports
from penstock.pipeline.trace import PipelineTrace
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.origin import RULE_TEXTS, json_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.cli.json_documents import (
        ColumnEventDocument,
        ColumnHistoryDocument,
        ColumnNameDocument,
        VariantBase,
    )
    from penstock.pipeline.column_history import ColumnEvent, ColumnHistory, ColumnRef

_CONTRACTS: Final[Mapping[str, str]] = {
    "tables": "tables evolve, and the table was new",
    "columns": "columns evolve",
    "data_type": "data types evolve",
    "first_rows": "the first load of a table adds columns",
}


def why(
    ref: PipelineRef,
    column: Annotated[str, typer.Argument(help="A column, as TABLE.COLUMN; COLUMN if one table has it.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show why a column exists: the loads that added and changed it, the JSON path, and the rule."""
    pipeline = ref.open()
    target = target_of(pipeline)
    if target is None:
        raise PipelineConfigMissing(pipeline_name=pipeline.pipeline_name)
    history = late_imports.column_history.ColumnHistory(target)
    try:
        names = history.find(column)
    except UsageError as error:
        refusal = next(_refusals(ref, column), None)
        raise error if refusal is None else UsageError(error.message, hint=refusal) from error
    document = column_document(history, names)
    if as_json:
        print_json(document, unmasked=("events",))
    else:
        print_text("\n".join(column_lines(document)))


def column_document(history: ColumnHistory, ref: ColumnRef) -> ColumnHistoryDocument:
    """Return the history of a column as plain data."""
    events = [_event_document(history, ref, event) for event in history.events(ref)]
    return {
        "pipeline_name": history.pipeline_name,
        "schema_name": ref.schema_name,
        "table": ref.table,
        "column": ref.column,
        "data_type": events[-1]["data_type"] if events else None,
        "events": events,
    }


def column_lines(document: ColumnHistoryDocument) -> Iterator[str]:
    """Yield the history of a column for people."""
    yield f"{document['table']}.{document['column']}: {document['data_type'] or 'removed'}"
    for event in document["events"]:
        yield from _event_lines(event)


def _event_document(history: ColumnHistory, ref: ColumnRef, event: ColumnEvent) -> ColumnEventDocument:
    schema, origin, name = event.version.schema, event.origin, history.name_of(ref, event)
    variant_of = history.variant_of(ref, event)
    is_system = ref.column.startswith(SYSTEM_PREFIX) and origin is None and event.kind != "removed"
    return {
        "event": event.kind,
        "data_type": event.data_type,
        "load_id": event.load_id,
        "completed_at": event.completed_at,
        "is_pending": event.version.package is not None,
        "schema_version": schema.version,
        "schema_version_hash": schema.version_hash,
        "rule": origin.rule if origin else "system" if is_system else None,
        "variant_of": None if variant_of is None else {"column": variant_of[0], "data_type": variant_of[1]},
        "contract": origin.permitted_by if origin else None,
        "root_table": history.root_table(ref, event),
        "path": json_path(origin.path) if origin and origin.path is not None else None,
        "value_type": origin.value_type if origin else None,
        "example": None if origin is None else example_place(origin),
        "name": None
        if name is None
        else {
            "keys": list(name.keys),
            "convention": name.convention,
            "normalized": name.normalized,
            "is_tagged": name.is_tagged,
        },
        "unknown": event.unknown or None,
    }


def _event_lines(event: ColumnEventDocument) -> Iterator[str]:
    kind = f"{event['event']} as {event['data_type']}" if event["data_type"] else event["event"]
    if event["load_id"] is None:
        yield f"  {kind}"
    elif event["completed_at"] is None:
        yield f"  {kind} by the pending load {event['load_id']}"
    else:
        completed_at = event["completed_at"][:19].replace("T", " ")
        yield f"  {kind} by load {event['load_id']}, complete at {completed_at} UTC"
    yield f"    schema:    version {event['schema_version']} ({event['schema_version_hash']})"
    if event["rule"]:
        yield f"    rule:      {event['rule']}: {_rule_text(event['rule'], event['variant_of'])}"
    if event["path"]:
        yield f"    path:      {event['path']}"
        yield f"    value:     {_value_text(event)}"
    if event["name"]:
        yield f"    name:      {_name_text(event['name'], is_variant=event['rule'] == 'variant')}"
    if event["contract"]:
        yield f"    contract:  {_CONTRACTS[event['contract']]}"
    if event["unknown"]:
        yield f"    unknown:   {event['unknown']}"


def _rule_text(rule: str, base: VariantBase | None) -> str:
    if base is None:
        return RULE_TEXTS[rule]
    return f"{base['column']} is {base['data_type']}, and values that do not fit it have a separate column"


def _value_text(event: ColumnEventDocument) -> str:
    example = event["example"]
    if example is None:
        return f"{event['value_type']}, by the type of the frame's column"
    file = f" of file {example['file']}" if example["file"] > 1 else ""
    row = f"row {example['row']}{file} of {event['root_table']}"
    return f"{event['value_type']}, such as {example['path']} in {row}"


def _name_text(name: ColumnNameDocument, *, is_variant: bool) -> str:
    keys, normalized, convention = name["keys"], name["normalized"], name["convention"]
    text = "the key" if keys == [normalized] else f"{' and '.join(map(repr, keys))} by {convention}"
    text += ", and the type of the values" if is_variant else ""
    return f"{text}, with a tag, because another key has the name" if name["is_tagged"] else text


def _refusals(ref: PipelineRef, column: str) -> Iterator[str]:
    """Yield the values of a column that a contract refused in the runs of this machine, newest first."""
    for run in ref.local_pipeline().runs():
        for step in run.steps if isinstance(run, PipelineTrace) else ():
            for reject in step.info.recorded_facts().get("rejects", ()):
                if column in {reject["column"], f"{reject['table']}.{reject['column']}"}:
                    yield (
                        f"the contract ({reject['mode']}) left out {reject['count']} of its values in load "
                        f"{reject['load_id']}: {reject['reason']}"
                    )
