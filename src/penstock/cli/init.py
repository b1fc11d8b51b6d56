"""The command `init`: a new project that runs at once."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.load_plan import LoadOptions
from penstock.cli.output import print_json, print_text
from penstock.cli.pipeline_changes import Yes, confirm
from penstock.cli.pipeline_options import AsJson  # noqa: TC001 - typer reads the annotation
from penstock.cli.project import SECRETS_FILE, plan_project

if TYPE_CHECKING:
    from penstock.cli.json_documents import ProjectDocument
    from penstock.cli.project import ProjectPlan


def init(
    source: Annotated[
        str,
        typer.Argument(help="python for a generator, or files, a database or an API, as load takes them."),
    ],
    destination: Annotated[
        str, typer.Argument(help="A folder or URL, as load takes it; a folder is one of the project.")
    ] = "./lake",
    name: Annotated[
        str | None, typer.Option("--name", help="The pipeline; by default named after table and destination.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="The project; by default a folder with its name.")
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="The table; by default named after the file or path.")
    ] = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Write a project that loads a table: program, settings, test; ask before files are overwritten."""
    options = LoadOptions(table=table, pipeline_name=name)
    plan = plan_project(source, destination, options, folder=folder)
    folder = folder or Path(plan.name)
    changed = [path for path, text in plan.files.items() if _text_of(folder / path) != text]
    replaced = [path for path in changed if (folder / path).exists()]
    if replaced:
        confirm([f"{folder / path} is overwritten." for path in replaced], yes=yes)
    for path in changed:
        _write(folder / path, plan.files[path])
    if as_json:
        print_json(project_document(plan, folder, changed), unmasked=("secret_settings",))
    else:
        print_text("\n".join(_project_lines(plan, folder, changed)))


def project_document(plan: ProjectPlan, folder: Path, written: list[str]) -> ProjectDocument:
    """Return the project as plain data, without its secrets."""
    return {
        "name": plan.name,
        "folder": str(folder),
        "program": f"{plan.name}.py",
        "files": list(plan.files),
        "written": written,
        "secret_settings": list(plan.secrets),
    }


def _project_lines(plan: ProjectPlan, folder: Path, written: list[str]) -> list[str]:
    lines = [f"Project {plan.name} in {folder}:"]
    lines += [f"  {path}" + ("" if path in written else " (unchanged)") for path in plan.files]
    lines += ["", "Run it:", f"  cd {shlex.quote(str(folder))}", f"  penstock run {plan.name}.py", "  pytest"]
    return lines


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.as_posix().endswith(SECRETS_FILE):
        # Readable by its owner alone before it has content.
        path.touch(mode=0o600)
        path.chmod(0o600)
    path.write_text(text, encoding="utf-8")
