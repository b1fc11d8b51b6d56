"""What a package costs follows from its tables, not from its data files."""

from __future__ import annotations

from benchmarks.packages import measure


def calls(files: int, tables: int = 20) -> dict[str, float]:
    return {step: facts["calls"] for step, facts in measure(tables, files, real=True).items()}


def test_no_step_asks_the_storage_more_often_because_there_are_more_data_files() -> None:
    few, many = calls(2), calls(200)

    assert few == many
    assert many["look at it"] < 20
    assert many["let the data go"] == 1


def test_only_steps_that_move_job_files_grow_with_tables() -> None:
    small, large = calls(1, tables=5), calls(1, tables=50)

    assert {step for step in small if small[step] != large[step]} == {
        "write and seal",
        "start and complete all jobs",
    }
