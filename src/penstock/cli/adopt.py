"""The command `adopt`: a pipeline takes over a table that another program wrote."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.output import print_json, print_text
from penstock.cli.pipeline_options import AsJson, PipelineRef  # noqa: TC001 - typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DESTINATION = "delta"
_NAME_WIDTH = 20


class ChangedFileTreatment(StrEnum):
    """The treatment of files that were changed since a stream read them."""

    REFUSE = "refuse"
    SKIP = "skip"
    READ = "read"


def adopt(  # noqa: PLR0913 - the options of the command
    ref: PipelineRef,
    table: Annotated[str, typer.Argument(help="The Delta or Iceberg table of the dataset.")],
    *,
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", metavar="COLUMN", help="The next run reads from its greatest value on."),
    ] = None,
    primary_key: Annotated[
        list[str] | None,
        typer.Option("--primary-key", metavar="COLUMN", help="The key of rows; repeat it for several."),
    ] = None,
    resource: Annotated[
        str | None, typer.Option("--resource", help="The resource; by default named like the table.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="The source or schema; by default the default schema.")
    ] = None,
    cursor_path: Annotated[
        str | None,
        typer.Option("--cursor-path", help="The cursor path of the resource, if it is not the column."),
    ] = None,
    cursor_format: Annotated[
        str | None,
        typer.Option(
            "--cursor-format",
            help="The format of timestamps that the source has as texts: %Y-%m-%dT%H:%M:%SZ.",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", help="The checkpoint of a stream that filled the table from files."),
    ] = None,
    files: Annotated[
        str | None, typer.Option("--files", help="The folder of these files, the bucket_url of the resource.")
    ] = None,
    file_glob: Annotated[str, typer.Option("--file-glob", help="The glob of these files.")] = "**",
    changed_files: Annotated[
        ChangedFileTreatment,
        typer.Option("--changed-files", help="The treatment of files that were changed since."),
    ] = ChangedFileTreatment.REFUSE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be recorded, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Continue an existing table: record its columns and its last value; its rows are not read again."""
    pipeline = ref.open_or_create(destination=_DESTINATION)
    adoption = pipeline.adopt(
        table,
        cursor=cursor,
        primary_key=primary_key or (),
        resource=resource,
        source=source,
        cursor_path=cursor_path,
        cursor_format=cursor_format,
        checkpoint=checkpoint,
        files=files,
        file_glob=file_glob,
        changed_files=changed_files.value,
        dry_run=dry_run,
    )
    if as_json:
        print_json(adoption.asdict(), unmasked=("columns",))
    else:
        print_text("\n".join(_adoption_lines(adoption.asdict())))


def _adoption_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the adoption of a table for people."""
    rows = "" if document["rows"] is None else f", {document['rows']:,} rows"
    version = "" if document["version"] is None else f", version {document['version']}"
    yield f"{document['table']} in {document['location']}{version}{rows}"
    for name, column in document["columns"].items():
        yield f"  {name:<{_NAME_WIDTH}} {_column_text(document, column)}".rstrip()
    for name in document["new_columns"]:
        yield f"  {name:<{_NAME_WIDTH}} added by the next load, null in existing rows"
    yield f"pipeline: {document['pipeline_name']}, dataset {document['dataset_name']}"
    yield f"resource: {document['resource']} of {document['schema_name']}"
    yield from _next_run_lines(document["cursor"], document["files"])
    yield from (f"note: {note}" for note in document["notes"])
    yield (
        "Nothing was changed."
        if document["load_id"] is None
        else f"Adopted by load {document['load_id']}; the table is unchanged."
    )


def _column_text(document: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    cursor = document["cursor"]
    is_cursor = cursor is not None and cursor["column"] == column["name"]
    digits = [str(column[name]) for name in ("precision", "scale") if name in column]
    words = (
        f"{column['data_type']}({', '.join(digits)})" if digits else column["data_type"],
        "not null" if column.get("nullable") is False else None,
        "without time zone" if column.get("timezone") is False else None,
        "primary key" if column.get("primary_key") else None,
        "partition" if column.get("partition") else None,
        "cursor" if is_cursor else None,
    )
    return ", ".join(word for word in words if word)


def _next_run_lines(cursor: Mapping[str, Any] | None, files: Mapping[str, Any] | None) -> Iterator[str]:
    if cursor is not None:
        yield f"next run: {_cursor_text(cursor)}"
    elif files is None:
        yield "next run: reads what the resource yields; no cursor is recorded"
    if files is not None:
        yield (
            f"next run: reads the new files in {files['folder']} ({_next_file_count(files):,}), and none "
            f"that {files['checkpoint']} has read ({files['read']:,})"
        )
        if files["changed"]:
            again = "read again" if files["changed_files"] == "read" else "skipped"
            yield f"  files that were changed since are {again} ({files['changed']:,})"
        if files["deleted"]:
            yield f"  files of its log that do not exist any more: {files['deleted']:,}"


def _next_file_count(files: Mapping[str, Any]) -> int:
    changed: int = files["changed"] if files["changed_files"] == "read" else 0
    unread: int = files["unread"]
    return unread + changed


def _cursor_text(cursor: Mapping[str, Any]) -> str:
    if cursor["last_value"] is None:
        return f"reads from the initial value of {cursor['path']}"
    rows = cursor["rows_at_last_value"]
    return (
        f"reads from {cursor['path']} = {cursor['last_value']}; the {rows:,} "
        f"{'row' if rows == 1 else 'rows'} with this value {'is' if rows == 1 else 'are'} not loaded again"
    )
