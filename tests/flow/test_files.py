"""The `filesystem` source, whole runs: each file once, whatever its columns, and bad lines quarantined."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import process_env
from tests.flow.factories import make_pipeline
from tests.step_failures import step_raises

import penstock
from penstock.errors import FileNotReadable, UsageError
from penstock.sources.filesystem import files, filesystem, read_csv, read_jsonl, readers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = Path(__file__).parents[2] / "docs"
ODD_NAMES = ("plain", "with blank", "star*", "a{b,c}", "[1]", "what?", "per%20cent", "plus+", "ümlaut")


def rows_of(pipeline: penstock.Pipeline, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(
        (tuple(row) for row in pipeline.dataset()[table].spark().select(*columns).collect()), key=repr
    )


def file_metrics(pipeline: penstock.Pipeline) -> Any:
    """The trace of the last run."""
    assert pipeline.last_trace is not None
    return pipeline.last_trace


def read_counts(pipeline: penstock.Pipeline) -> dict[str, Any]:
    """Return the metrics of files of each resource in the last extraction."""
    info = file_metrics(pipeline).last_extract_info
    return {name: result for report in info.packages for name, result in report.custom_metrics.items()}


@pytest.mark.every_mode
def test_new_files_are_read_once_and_changed_ones_again(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = Path(location) / "raw"
    for number, name in enumerate(ODD_NAMES):
        (raw / f"day={number % 2}").mkdir(parents=True, exist_ok=True)
        (raw / f"day={number % 2}" / f"{name}.csv").write_text(f"id,name\n{number},007\n", encoding="utf-8")
    (raw / "_SUCCESS.csv").write_text("id,name\n99,hidden\n")
    (raw / "empty.csv").touch()

    def run() -> penstock.Pipeline:
        pipeline = make_pipeline(location, tmp_path, spark)
        pipeline.run(files(str(raw), file_glob="**/*.csv", name="orders"))
        return pipeline

    first = run()
    assert rows_of(first, "orders", "id", "name") == [(str(item), "007") for item in range(len(ODD_NAMES))]
    assert file_metrics(run()).last_load_info is None, "there is nothing to load, not even a state"
    assert first.dataset().row_counts()["orders"] == len(ODD_NAMES)
    (raw / "day=0" / "plain.csv").write_text("id,name\n0,changed\n")
    (raw / "day=0" / "new.csv").write_text("id,name\n50,new\n")
    third = run()
    assert rows_of(third, "orders", "id", "name") == sorted(
        [*((str(item), "007") for item in range(len(ODD_NAMES))), ("0", "changed"), ("50", "new")]
    )


def test_files_with_different_columns_are_loaded_and_bad_lines_quarantined(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "a.csv").write_text(
        '\ufeffid,text\n1,"two\nlines ""quoted"""\n2,b\n3\n4,b,c\n\n5,\n', encoding="utf-8"
    )
    (raw / "b.csv").write_text("id,other\n6,x\n")
    with gzip.open(raw / "c.csv.gz", "wt") as stream:
        stream.write("id,text\n7,packed\n")
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(files(str(raw), file_glob="*.csv*", format="csv", name="orders", metadata=True))

    assert rows_of(pipeline, "orders", "id", "text", "other") == [
        ("1", 'two\nlines "quoted"', None),
        ("2", "b", None),
        ("5", None, None),
        ("6", None, "x"),
        ("7", "packed", None),
    ]
    assert rows_of(pipeline, "orders", "_file", "_row")[:3] == [
        (f"{raw}/a.csv", 0),
        (f"{raw}/a.csv", 1),
        (f"{raw}/a.csv", 4),
    ]
    quarantined = rows_of(pipeline, "_dlt_quarantine", "item", "raw", "reason", "table_name")
    assert [row[:2] for row in quarantined] == [(2, "3"), (3, "4,b,c")]
    assert all(row[2].endswith(f"{raw}/a.csv") and row[3] == "orders" for row in quarantined)
    assert "- orders: 2 quarantined" in str(file_metrics(pipeline).last_extract_info)


def test_lines_of_json_are_read_by_the_rules_of_rows(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    tag = "\uf02a"
    lines = [
        json.dumps({"id": 1, "tags": ["a", "b"], "at": "2026-11-17T05:00:00Z"}),
        json.dumps({"id": 2, "big": 2**70, "price": 1.5, "text": f"no number: {2**80}, or"}),
        json.dumps({"id": 9, "big": -(2**70), "exact": 2**63 - 1, "many": list(range(7_000))}),
        json.dumps({"id": 3, "text": f"{tag}no tag"}, ensure_ascii=False),
        json.dumps({"id": 4, "text": f"{tag}no tag", f"{tag}key": f'say "{tag}'}),
        '{"id": 5, "id": 6}',
        "",
        "no json",
        '{"id": 7',
        "[1, 2]",
        "{}",
    ]
    (raw / "a.jsonl").write_bytes("\n".join(lines).encode() + b'\n{"id": 8, "text": "\xff"}\n')
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(files(str(raw), file_glob="*.jsonl", name="orders"))

    result = {row["id"]: row for row in pipeline.dataset()["orders"].spark().collect()}
    assert result[3]["text"] == f"{tag}no tag"
    assert result[4]["text"] == f"{tag}no tag"
    assert (int(result[2]["big"]), int(result[9]["big"])) == (2**70, -(2**70))
    assert result[2]["text"] == f"no number: {2**80}, or"
    assert result[9]["exact"] == 2**63 - 1
    assert pipeline.dataset().row_counts()["orders__tags"] == 2
    quarantined = rows_of(pipeline, "_dlt_quarantine", "item", "raw", "reason")
    assert [(row[0], row[1][:8]) for row in quarantined if row[2].endswith("a.jsonl")] == [
        (11, '{"id": 8'),
        (7, "no json"),
        (8, '{"id": 7'),
        (9, "[1, 2]"),
    ]
    complete = pipeline.dataset().row_counts()
    assert complete["orders"] + complete["_dlt_quarantine"] == 11


@pytest.mark.at_length
def test_only_the_bad_part_of_a_long_line_or_of_binary_data_is_quarantined(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    long = {"digits": f'"{2**80}" or {2**90}', "filling": '\\"' * 40_000}
    wide = {"id": 2, "least": 2**63, "most": -(2**63) - 1, "fits": -(2**63)}
    lines = [{"id": 1, **long}, wide, {"id": 3, "number": 2**80, **long}]
    (raw / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (raw / "a.csv").write_bytes("id,name\n1,ä\n2,".encode() + b"\xff\xfe,\n3,\xffx\n4,b\n")
    (raw / "b.csv.bz2").write_bytes(bz2.compress(b"# said before\nid,name\n5,c\n"))
    (raw / "bare-1.txt").write_text("1;a\n")
    (raw / "bare-2.txt").write_text("2;b\n")
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(
        [
            files(str(raw), file_glob="*.jsonl", name="lines"),
            files(str(raw), file_glob="*.csv*", format="csv", name="orders", comment="#"),
            files(str(raw), file_glob="*.txt", format="csv", name="bare", header=False, sep=";"),
        ]
    )

    result = {row["id"]: row for row in pipeline.dataset()["lines"].spark().collect()}
    assert set(result) == {1, 2}
    assert result[1]["digits"] == long["digits"]
    assert [int(result[2][name]) for name in ("least", "most", "fits")] == [*list(wide.values())[1:]]
    assert rows_of(pipeline, "orders", "id", "name") == [("1", "ä"), ("4", "b"), ("5", "c")]
    assert rows_of(pipeline, "bare", "_c0", "_c1") == [("1", "a"), ("2", "b")]
    quarantined = rows_of(pipeline, "_dlt_quarantine", "table_name", "item", "reason")
    assert [(row[0], row[1]) for row in quarantined] == [("lines", 2), ("orders", 1), ("orders", 2)]
    assert "U+FFFD" in quarantined[2][2]


@pytest.mark.at_length
def test_parquet_files_with_different_types_are_all_loaded(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    at = pa.array([1_794_895_200_123_456_789], pa.timestamp("ns"))
    for name, columns in {
        "a": {"id": pa.array([1, 2])},
        "b": {"id": pa.array([3]), "extra": pa.array(["x"])},
        "c": {"id": pa.array(["four"])},
        "d": {"id": pa.array([5]), "at": at, "utc": at.cast(pa.timestamp("ns", "UTC"))},
    }.items():
        pq.write_table(pa.table(columns), raw / f"{name}.parquet")
    old = pa.table({"id": pa.array([6]), "old": at})
    pq.write_table(old, raw / "e.parquet", use_deprecated_int96_timestamps=True)
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(files(str(raw), file_glob="*.parquet", name="orders", metadata=True))

    assert rows_of(pipeline, "orders", "id", "id__v_text", "extra", "_row") == sorted(
        [
            *((1, None, None, 0), (2, None, None, 1), (3, None, "x", 0), (None, "four", None, 0)),
            *((5, None, None, 0), (6, None, None, 0)),
        ],
        key=repr,
    )
    moments = pipeline.dataset()["orders"].spark().where("id > 4").orderBy("id")
    result = moments.selectExpr("unix_micros(at)", "unix_micros(utc)", "unix_micros(old)").collect()
    micros = 1_794_895_200_123_456
    assert [*map(tuple, result)] == [(micros, micros, None), (None, None, micros)]
    (raw / "bad.parquet").write_text("no parquet")
    with step_raises(FileNotReadable) as failed:
        pipeline.run(files(str(raw), file_glob="*.parquet", name="orders"))
    assert failed.value.path.endswith("bad.parquet")


@pytest.mark.at_length
def test_files_listed_as_rows_are_read_by_transformers_and_by_a_cursor(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "a.csv").write_text("id;name\n1;a\n")
    pipeline = make_pipeline(location, tmp_path, spark)

    def run() -> None:
        listed = filesystem(
            str(raw), file_glob="*.csv", incremental=penstock.sources.incremental("modification_date")
        )
        pipeline.run((listed | read_csv(sep=";")).with_name("orders"))

    run()
    run()
    (raw / "b.csv").write_text("id;name\n2;b\n")
    run()

    assert rows_of(pipeline, "orders", "id", "name") == [("1", "a"), ("2", "b")]
    (raw / "c.jsonl").write_text('{"id": 3}\n')
    pipeline.run(readers(str(raw), file_glob="*.jsonl").read_jsonl())
    pipeline.run((filesystem(str(raw), file_glob="c.jsonl") | read_jsonl()).with_name("lines"))
    assert pipeline.dataset().row_counts() | {"read_jsonl": 1, "lines": 1} == pipeline.dataset().row_counts()


def test_rows_of_csv_files_are_filtered_by_a_cursor_in_their_rows(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = Path(location) / "raw"
    raw.mkdir(parents=True)
    (raw / "a.csv").write_text("id,day\n1,2026-01-01\n2,2026-01-03\nbad\n")
    pipeline = make_pipeline(location, tmp_path, spark)

    def load() -> None:
        listed = filesystem(str(raw), file_glob="*.csv")
        rows = (listed | read_csv()).with_name("orders")
        rows.apply_hints(incremental=penstock.sources.incremental("day"), primary_key="id")
        pipeline.run(rows)

    load()
    (raw / "b.csv").write_text("id,day\n3,2026-01-02\n4,2026-01-03\n5,2026-01-04\n")
    load()

    assert rows_of(pipeline, "orders", "id") == [("1",), ("2",), ("4",), ("5",)]
    assert len(rows_of(pipeline, "_dlt_quarantine", "resource_name")) == 2


@pytest.mark.at_length
def test_csv_values_are_texts_unless_types_are_inferred(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.csv").write_text("id,day,price\n1,2026-11-17,1.5\n")
    pipeline = make_pipeline(location, tmp_path, spark)

    pipeline.run(files(str(tmp_path / "raw"), file_glob="*.csv", name="typed", infer=True))

    frame = pipeline.dataset()["typed"].spark()
    assert dict(frame.select("id", "day", "price").dtypes) == {
        "id": "bigint",
        "day": "date",
        "price": "double",
    }
    with pytest.raises(UsageError, match="skiprows"):
        files(str(tmp_path / "raw"), file_glob="*.csv", skiprows=3)


@pytest.mark.at_length
def test_csv_lines_are_identified_whatever_their_names_encoding_and_types(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for name, content in {
        "helpers": b'first,before,of_path,of_block\n1,"",,x\n2\n',
        "rowed": b"id,_row\n1,a\n2,\xff\n",
        "latin": b"id,name\n1,\xe4\n2\n3,b,c\n",
        "typed": b'id,amount\n1,2.5\n2\n"3",""\n4,\n',
        "escaped": b'1,"a \\",b"\n2,c\n',
    }.items():
        (raw / f"{name}.csv").write_bytes(content)
    pipeline = make_pipeline(location, tmp_path, spark)

    def read(name: str, **how: Any) -> Any:
        return files(str(raw), file_glob=f"{name}.csv", name=name, **how)

    pipeline.run(
        [
            read("helpers", metadata=True),
            read("rowed"),
            read("latin", encoding="ISO-8859-1", multi_line=False),
            read("typed", infer=True, multi_line=False),
            read("escaped", header=None, escape="\\"),
        ]
    )

    named = ("first", "before", "of_path", "of_block", "_row")
    assert rows_of(pipeline, "helpers", *named) == [("1", "", None, "x", 0)]
    assert rows_of(pipeline, "rowed", "id", "_row") == [("1", "a")]
    assert rows_of(pipeline, "latin", "id", "name") == [("1", "ä")]
    assert rows_of(pipeline, "typed", "id", "amount") == [(1, 2.5), (3, None), (4, None)]
    assert rows_of(pipeline, "escaped", "_c0", "_c1") == [("1", 'a ",b'), ("2", "c")]
    assert rows_of(pipeline, "_dlt_quarantine", "table_name", "item", "raw") == [
        ("helpers", 1, "2"),
        ("latin", 1, "2"),
        ("latin", 2, "3,b,c"),
        ("rowed", 1, "2,\ufffd"),
        ("typed", 1, "2"),
    ]


# Runs over a folder, and ends when a control file whose path contains `deadly` is about to be written.
KILLED = """
import os, re, signal, sys
import penstock
from penstock.package.local_files import LocalFiles
from penstock.sources.filesystem import files

def run(location, raw, folder, deadly, spark=None, files_per_job=5_000):
    def dying(name):
        whole = getattr(LocalFiles, name)
        def write(self, path, *rest, **options):
            if deadly and re.search(deadly, path):
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(self, path, *rest, **options)
        return write
    for name in ("put", "put_if_absent", "move", "open_new") if deadly else ():
        setattr(LocalFiles, name, dying(name))
    lake = penstock.destinations.delta(location)
    pipeline = penstock.pipeline(
        "quick", pipelines_dir=f"{folder}/p", destination=lake, dataset_name="demo", spark=spark
    )
    pipeline.run([
        files(raw, file_glob="**/*.csv", name="orders", files_per_job=files_per_job),
        files(raw, file_glob="**/*.jsonl", name="lines", files_per_job=files_per_job),
    ])
    return pipeline

if __name__ == "__main__":
    run(*sys.argv[1:5], files_per_job=int(sys.argv[5]))
"""
DEATHS = ("extracted.json", "normalized.json", "committed|complete|loaded")


def write_mixed(raw: Path, numbers: range) -> None:
    """Return the content of one file with one row: one of three kinds of CSV, or a line of JSON."""
    for number in numbers:
        folder = raw / f"2026/11/{number % 28 + 1:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        if number % 4 == 3:
            (folder / f"{number}.jsonl").write_text(f'{{"id": {number}, "tags": ["a"]}}\n')
        else:
            extra = [f"extra_{item}" for item in range(number % 4)]
            lines = [",".join(["id", *extra]), ",".join([str(number), *extra])]
            (folder / f"{number}.csv").write_text("\n".join(lines) + "\n")


def killed_and_taken_up(
    spark: SparkSession, location: str, tmp_path: Path, *, count: int, deaths: tuple[str, ...]
) -> None:
    raw, program = tmp_path / "raw", tmp_path / "program.py"
    program.write_text(KILLED)
    write_mixed(raw, range(count))
    per_job = str(max(count // 3, 20))
    for deadly in deaths:
        command = [sys.executable, str(program), location, str(raw), str(tmp_path), deadly, per_job]
        killed = subprocess.run(command, check=False, capture_output=True, env=process_env(), cwd=tmp_path)
        assert killed.returncode == -signal.SIGKILL, f"{deadly}: {killed.stderr.decode()[-2000:]}"
    space: dict[str, Any] = {"__name__": "elsewhere"}
    exec(KILLED, space)  # the program of the killed runs

    def run() -> tuple[list[int], dict[str, Any]]:
        pipeline = space["run"](location, str(raw), str(tmp_path), "", spark, int(per_job))
        result = pipeline.dataset()
        ids = [int(row[0]) for name in ("orders", "lines") for row in result[name].select("id").fetchall()]
        return sorted(ids), read_counts(pipeline)

    run()
    ids, counts = run()
    assert ids == list(range(count)), "each file once"
    assert (counts["orders"]["files_read"], counts["lines"]["files_read"]) == (0, 0)
    write_mixed(raw, range(count, count + 50))
    ids, counts = run()
    assert ids == list(range(count + 50))
    assert counts["orders"]["files_read"] + counts["lines"]["files_read"] == 50
    assert counts["orders"]["files_known"] + counts["lines"]["files_known"] == count


@pytest.mark.at_length
def test_a_killed_run_over_files_is_resumed_and_each_file_counts_once(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    killed_and_taken_up(spark, location, tmp_path, count=60, deaths=DEATHS[:1])


@pytest.mark.at_length
def test_ten_thousand_files_are_loaded_once_through_three_crashes(
    spark: SparkSession, location: str, tmp_path: Path
) -> None:
    killed_and_taken_up(spark, location, tmp_path, count=10_000, deaths=DEATHS)


@pytest.mark.at_length
def test_the_example_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    page = (PAGES / "files.md").read_text(encoding="utf-8").partition("<!-- example:")[2]
    code, output = re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)[:2]

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**process_env(), "PENSTOCK_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
    )

    assert done.stdout == output, done.stderr
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
