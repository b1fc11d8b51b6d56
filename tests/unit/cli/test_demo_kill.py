"""`penstock demo --kill`: the killed processes, the check of all rows and the output, without Spark."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from tests.command_documents import read_documents
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.cli.kill_demo import (
    STAGES,
    InterruptedPackage,
    InterruptedStatus,
    KillDemo,
    KilledLoad,
    ProgramRun,
    RowComparison,
    orders_of,
)
from penstock.cli.kill_report import KillReport, is_exactly_once, kill_document
from penstock.cli.output import print_json
from penstock.cli.program_steps import DurableStep, StepAnnouncer
from penstock.errors import InternalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.usefixtures("no_java", "disk")

STEP = DurableStep(stage="load", number=1, change="writes", path="slots/0000000003.json")
EXACT = RowComparison(table="orders", expected=300, loaded=300, missing=0, unexpected=0)


@pytest.fixture(scope="module")
def no_java() -> Iterator[None]:
    """Let processes of the demo fail if they start Spark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", "/nonexistent")
        yield


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, no_java: None) -> KillDemo:
    """Return a demo after its undisturbed loads."""
    demo = KillDemo(folder=tmp_path_factory.mktemp("demo"), seed=1)
    demo.write_program()
    demo.load_undisturbed()
    return demo


def killed_load(
    status: InterruptedStatus, *, visible_days: int | None = 2, rows: tuple[RowComparison, ...] = (EXACT,)
) -> KilledLoad:
    run = ProgramRun(process_id=4711, seconds=0.9, steps=(STEP,), was_killed=True)
    return KilledLoad(
        day=3,
        step=STEP,
        killed_run=run,
        visible_days=visible_days,
        package=InterruptedPackage(status=status, load_id="1794700870.5798686", jobs=2, completed_jobs=1),
        next_run=replace(run, was_killed=False),
        resumed_steps=("normalize", "load"),
        rows=rows,
    )


def test_the_steps_of_all_stages_are_recorded(demo: KillDemo) -> None:
    counts = Counter(step.stage for step in demo.measured_steps)

    assert tuple(counts) == STAGES
    assert {"extracted.json", "normalized.json", "sealed.json", "package_completed.json"} <= {
        step.path for step in demo.measured_steps
    }


def test_a_killed_load_is_resumed_and_loaded_once(demo: KillDemo) -> None:
    after_commit = [step for step in demo.measured_steps if step.path.startswith(".results/orders.")]

    (killed,) = demo.kill_loads_at(after_commit)

    assert killed.killed_run.was_killed
    assert killed.step.path.startswith(".results/orders.")
    assert killed.visible_days == killed.day - 1
    assert (killed.package.status, killed.package.completed_jobs, killed.package.jobs) == ("sealed", 1, 2)
    assert killed.resumed_steps == ("load",)
    assert killed.is_correct
    assert demo.missed == 0
    assert [check.loaded for check in demo.check_rows()] == [100 * killed.day, 200 * killed.day]


def test_a_run_that_ends_before_its_kill_does_not_count(demo: KillDemo) -> None:
    late = DurableStep(stage="load", number=1_000, change="writes", path="")
    demo.measured_steps, demo.missed = (late,), 1

    with pytest.raises(InternalError, match="ended before they could be killed"):
        list(demo.kill_loads_at([late]))

    assert not is_exactly_once([], demo.check_rows())
    assert all(check.is_exact for check in demo.check_rows())


def test_doubled_rows_are_noticed(demo: KillDemo) -> None:
    pipeline = penstock.attach(
        "shop",
        demo.folder / "pipelines",
        destination=penstock.destinations.delta(bucket_url=str(demo.folder / "lake")),
    )
    pipeline.run(orders_of(1)[:7], table_name="orders")

    checks = demo.check_rows()

    assert [(check.missing, check.unexpected) for check in checks] == [(0, 7), (0, 14)]
    assert not is_exactly_once([killed_load("none")], checks)


def test_the_steps_are_repeated_by_the_seed() -> None:
    steps = [replace(STEP, stage=stage, number=number) for stage in STAGES for number in range(20)]

    def chosen(seed: int) -> list[DurableStep]:
        return KillDemo(folder=Path("unused"), seed=seed, measured_steps=tuple(steps)).choose_steps(5)

    assert chosen(7) == chosen(7)
    assert chosen(7) != chosen(8)
    assert all({step.stage for step in chosen(seed)} == set(STAGES) for seed in range(20))


@pytest.mark.parametrize(
    ("event", "arguments", "announced"),
    [
        ("open", ("{root}/a/x.json", None, os.O_WRONLY), "writes"),
        ("open", ("{root}/a/x.json", None, os.O_RDONLY), None),
        ("os.rename", ("{root}/a/.tmp-1", "{root}/a/x.json", -1, -1), "writes"),
        ("os.remove", ("{root}/a/x.json", -1), "deletes"),
        ("os.remove", ("{root}/a/.tmp-1", -1), None),
        ("open", ("{root}-other/x.json", None, os.O_WRONLY), None),
        ("open", (3, None, os.O_WRONLY), None),
    ],
)
def test_changes_of_files_are_announced(
    tmp_path: Path, event: str, arguments: Sequence[object], announced: str | None
) -> None:
    values = tuple(item.format(root=tmp_path) if isinstance(item, str) else item for item in arguments)
    reader, writer = os.pipe()
    with os.fdopen(reader) as lines:
        StepAnnouncer(tmp_path, writer, None).receive_event(event, values)
        os.close(writer)
        steps = [json.loads(line) for line in lines]

    expected = [{"stage": "extract", "number": 1, "change": announced, "path": "a/x.json"}]
    assert steps == (expected if announced else [])


@pytest.mark.parametrize("width", [80, 110])
def test_kills_and_counts_are_printed(width: int) -> None:
    output = io.StringIO()
    demo = KillDemo(folder=Path("penstock_demo"), seed=7, missed=1)
    report = KillReport(demo, Console(file=output, width=width, highlight=False))
    items = replace(EXACT, table="orders__items", expected=600, loaded=601, missing=1, unexpected=2)
    statuses: tuple[InterruptedStatus, ...] = (
        "none",
        "incomplete",
        "extracted",
        "normalized",
        "sealed",
        "loaded",
    )

    report.print_beginning()
    report.print_undisturbed(ProgramRun(process_id=1, seconds=0.8, steps=(STEP,), was_killed=False))
    for status in statuses:
        report.print_kill(killed_load(status, visible_days=3 if status == "loaded" else 2))
    report.print_end([killed_load("none")], [EXACT, replace(EXACT, table="orders__items")])
    report.print_kill(killed_load("sealed", visible_days=None, rows=(EXACT, items)))
    report.print_end([killed_load("none")], [EXACT, items])

    assert_output(f"demo_kill_{width}", output.getvalue())


def test_a_load_seen_in_part_is_not_correct() -> None:
    assert not is_exactly_once([killed_load("sealed", visible_days=None)], [EXACT])
    assert not is_exactly_once([killed_load("sealed", visible_days=1)], [EXACT])
    assert is_exactly_once([killed_load("sealed")], [EXACT])


def test_results_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    demo = KillDemo(folder=Path("penstock_demo"), seed=7)

    print_json(kill_document(demo, [killed_load("sealed")], [EXACT]))

    (document,) = read_documents("demo", capsys.readouterr().out)
    assert (document["exactly_once"], document["seed"]) == (True, 7)
    assert document["kills"][0]["package"]["status"] == "sealed"
    assert document["tables"][0]["expected"] == 300


def test_a_seed_without_kills_is_refused() -> None:
    result = CliRunner().invoke(app, ["demo", "--seed", "7"], env={"COLUMNS": "120"})

    assert result.exit_code == 2
    assert "--kill" in result.stderr


def test_a_folder_with_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "penstock_kill_demo").mkdir()
    (tmp_path / "penstock_kill_demo" / "mine.txt").write_text("x")

    done = CliRunner().invoke(app, ["demo", "--kill"])

    assert isinstance(done.exception, UsageError)
    assert [file.name for file in (tmp_path / "penstock_kill_demo").iterdir()] == ["mine.txt"]
