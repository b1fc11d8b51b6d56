"""The command `replay`, which loads the rows in quarantine again."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import print_json, print_text
from penstock.cli.pipeline_changes import Yes, confirm, pending_ids
from penstock.cli.pipeline_options import AsJson, PipelineRef  # noqa: TC001 - typer reads the annotations

_EFFECT_TEXT = "A row that is loaded leaves the quarantine; one that is refused again stays in it."


def replay(
    ref: PipelineRef,
    *,
    table: Annotated[str | None, typer.Option("--table", help="Only rows of this table.")] = None,
    rule: Annotated[
        str | None,
        typer.Option("--rule", help="Only rows that were refused by this rule: columns, or json."),
    ] = None,
    schema_contract: Annotated[
        str | None,
        typer.Option("--schema-contract", help="The contract of all tables, by default the stored ones."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the rows, and load none.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Load the rows in quarantine again, by today's schema and contract; show them and ask first."""
    pipeline = ref.open()
    result = pipeline.replay_quarantine(table, rule, dry_run=True)
    if result.tables and not dry_run:
        pending = [f"Pending package {load_id} is loaded first." for load_id in pending_ids(pipeline)]
        confirm([*pending, *result.lines(), _EFFECT_TEXT], yes=yes)
        result = pipeline.replay_quarantine(table, rule, schema_contract=schema_contract)
    if as_json:
        print_json(result.asdict())
    else:
        print_text(str(result))
