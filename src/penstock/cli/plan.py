"""The commands for plans: `plan`, and `pipeline NAME plans`, `apply` and `drop-plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.load import run_document
from penstock.cli.output import print_json, print_text
from penstock.cli.pipeline_changes import Yes, confirm
from penstock.cli.pipeline_options import AsJson, PipelineRef  # noqa: TC001 - typer reads the annotations
from penstock.cli.program import plan_source
from penstock.errors import UsageError
from penstock.pipeline.workdir import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.cli.json_documents import PlanDropDocument
    from penstock.pipeline.pipeline import Pipeline
    from penstock.pipeline.plan import LoadPlan

_HtmlFile = Annotated[Path | None, typer.Option("--html", help="Also write the plan as a page to a file.")]
_LoadId = Annotated[
    str | None, typer.Argument(help="The id of the plan's package; not needed if only one plan waits.")
]


def plan(
    source: Annotated[str, typer.Argument(help="A source or resource of a module: shop:orders.")],
    destination: Annotated[
        str | None, typer.Option("--destination", help="A folder, a URL, or a name from the settings.")
    ] = None,
    dataset: Annotated[str | None, typer.Option("--dataset", help="The dataset.")] = None,
    pipeline_name: Annotated[
        str | None, typer.Option("--pipeline-name", help="By default the name of the source.")
    ] = None,
    *,
    html: _HtmlFile = None,
    as_json: AsJson = False,
) -> None:
    """Extract and normalize a source, and show what its load would change; no table is changed."""
    planned = plan_source(
        source,
        destination=destination,
        dataset_name=dataset,
        pipeline_name=pipeline_name,
        as_json=as_json,
    )
    if planned is None:
        raise typer.Exit(1)
    _print_plans([planned], html, as_json=as_json)
    if not as_json and planned.packages and not planned.is_stopped:
        print_text(f"To publish it: penstock pipeline {planned.pipeline_name} apply {planned.load_ids[0]}")


def plans(
    ref: PipelineRef, load_id: _LoadId = None, *, html: _HtmlFile = None, as_json: AsJson = False
) -> None:
    """Show the plans that wait to be applied."""
    waiting = ref.open().list_plans()
    shown = waiting if load_id is None else [_find_plan(waiting, load_id)]
    _print_plans(shown, html, as_json=as_json)
    if not shown and not as_json:
        print_text("There are no plans.")


def apply(ref: PipelineRef, load_id: _LoadId = None, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Publish the package of a plan, unless the tables have changed since; show the plan and ask first."""
    pipeline = ref.open()
    waiting = _wanted_plan(pipeline, load_id)
    confirm(str(waiting).splitlines(), yes=yes)
    info = pipeline.apply(waiting)
    if as_json:
        print_json(run_document(info, seconds=info.total_seconds), unmasked=("rows",))
    else:
        print_text(str(info))
    if info.has_failed_jobs:
        raise typer.Exit(1)


def drop_plan(
    ref: PipelineRef, load_id: _LoadId = None, *, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Delete the package of a plan; ask first."""
    pipeline = ref.open()
    waiting = _wanted_plan(pipeline, load_id)
    confirm([f"The package {waiting.load_ids[0]} is deleted. The next run extracts its rows."], yes=yes)
    pipeline.drop_plan(waiting)
    if as_json:
        document: PlanDropDocument = {
            "pipeline_name": pipeline.pipeline_name,
            "dropped": list(waiting.load_ids),
        }
        print_json(document)
    else:
        print_text(f"Dropped {waiting.load_ids[0]}.")


def _print_plans(shown: Sequence[LoadPlan], html: Path | None, *, as_json: bool) -> None:
    for number, planned in enumerate(shown):
        if as_json:
            print_json(planned.to_dict(), unmasked=("packages",))
        else:
            print_text(("\n" if number else "") + str(planned))
    if html is not None and shown:
        write_text(html.absolute(), shown[-1].to_html())
        print_text(f"Wrote {html.absolute()}.", err=True)


def _wanted_plan(pipeline: Pipeline, load_id: str | None) -> LoadPlan:
    waiting = pipeline.list_plans()
    if load_id is not None:
        return _find_plan(waiting, load_id)
    if len(waiting) != 1:
        ids = ", ".join(planned.load_ids[0] for planned in waiting)
        raise UsageError(
            f"{len(waiting)} plans of {pipeline.pipeline_name!r} wait",
            hint=f"name one: {ids}" if ids else "make one with penstock plan, or with pipeline.plan()",
        )
    return waiting[0]


def _find_plan(waiting: Sequence[LoadPlan], load_id: str) -> LoadPlan:
    for planned in waiting:
        if load_id in planned.load_ids:
            return planned
    ids = ", ".join(planned.load_ids[0] for planned in waiting)
    raise UsageError(
        f"no plan waits with the package {load_id}", hint=f"name one of: {ids}" if ids else "there is none"
    )
