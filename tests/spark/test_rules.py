"""SQL applies decisions like the Python reference: the same tables, rows and values."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from tests.conftest import AT_LENGTH, SEED
from tests.corpus.hard_rows import HARD
from tests.corpus.hostile_rows import ALL, ExtractedRow
from tests.oracle.reference_rows import comparable_sql, from_sql, reference_tables, untagged
from tests.oracle.row_sets import rowset

from penstock.extract.encode import encode
from penstock.normalize.plan import is_kept_as_json, plan_layout, plan_tables, strict_fractions
from penstock.normalize.prior_schema import MAX_NESTING
from penstock.normalize.profile import decode_value, profile_rows
from penstock.normalize.refusals import refused_rows
from penstock.normalize.steps import parse_rows
from penstock.normalize.unexpected import unexpected_rows
from penstock.package.projection.explode import projection_steps
from penstock.package.sql import literal, quote_name
from penstock.schema import InferenceOptions, Schema, StoredSchema, decide, gather
from penstock.schema.convert import convert_value
from penstock.schema.evidence import walk_values
from penstock.schema.observation import observe_value, typed_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.normalize.profile import JsonForm, RowProfile
    from penstock.schema import Decision, Rule

SETS, CHUNK, TOGETHER = int(os.environ.get("PENSTOCK_TEST_SETS", "60")), 4, 100
CONF = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
LARGE = ("25 MB", "10,000 keys", "900 levels")
CONTAINERS: tuple[JsonForm, ...] = ("object", "list")


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> SparkSession:
    """A session with the settings of normalize, without compiling: hundreds of plans have few rows each."""
    session = spark.newSession()
    for key, value in CONF.items():
        session.conf.set(key, value)
    return session


def raw_rows(spark: SparkSession, texts: list[str]) -> DataFrame:
    """Return rows as part files have them. As literals: a frame from Python's memory costs half a second."""
    rows = ", ".join(f"('r{number}', {literal(text)}, 'f', {number}L)" for number, text in enumerate(texts))
    return spark.sql(f"SELECT * FROM VALUES {rows} AS rows(id, text, file, position)")


def frames(
    spark: SparkSession, label: str, decision: Decision, texts: list[str], learned: RowProfile
) -> list[DataFrame]:
    """Return one frame for each table, all with the same columns, and the unexpected rows."""
    dataset = plan_layout(decision, learned)
    raw = raw_rows(spark, texts)
    nested = parse_rows(raw, dataset, None, refused_rows(decision, dataset))
    result = [
        parse_rows(raw, dataset, partial(unexpected_rows, decision, dataset, learned))
        .where("raw IS NOT NULL")
        .selectExpr(f"{literal(label)} AS label", "'odd' AS name", "raw.text AS shown")
    ]
    for plan in plan_tables(decision, dataset, is_partial=True):
        frame = nested
        for step in projection_steps(plan.projection, load_id="1"):
            remaining = frame.where(step.where) if step.where else frame
            frame = remaining.selectExpr(*step.columns)
        columns = [
            f"{comparable_sql(quote_name(name), plan.table.columns[name].data_type)} AS {quote_name(name)}"
            for name in frame.columns
            if name != "_dlt_load_id"
        ]
        comparable = frame.selectExpr(*columns).selectExpr("to_json(struct(*)) AS shown")
        result.append(
            comparable.selectExpr(
                f"{literal(label)} AS label", f"{literal(plan.table.name)} AS name", "shown"
            )
        )
    return result


def read_back(text: str, table: Any) -> dict[str, Any]:
    result = {
        name: from_sql(value, table.columns[name].data_type) for name, value in json.loads(text).items()
    }
    return {name: value for name, value in result.items() if value is not None}


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["_dlt_id"])


Batch = tuple[str, StoredSchema, Sequence[Any]]
"""A label, the schema that rows meet, and the rows."""


def compare(quick: SparkSession, batches: Iterable[Batch]) -> None:
    """Apply decisions in SQL and in Python, in few jobs, and compare the results."""
    expected: dict[tuple[str, str], Any] = {}
    tables: dict[tuple[str, str], Any] = {}
    all_frames: list[DataFrame] = []
    for label, stored, batch in batches:
        texts = [encode(row).decode() for row in batch]
        learned = profile_rows(texts)
        decision = decide(stored, "t", learned.evidence, InferenceOptions(max_nesting=MAX_NESTING))
        for name, rows in reference_tables(
            decision, [untagged(orjson.loads(text)) for text in texts]
        ).items():
            expected[label, name] = ordered(rows)
            tables[label, name] = decision.schema.tables[name]
        all_frames += frames(quick, label, decision, texts, learned)
    result: dict[tuple[str, str], list[Any]] = {}
    for begin in range(0, len(all_frames), TOGETHER):
        together = reduce(
            lambda left_frame, right_frame: left_frame.unionAll(right_frame),
            all_frames[begin : begin + TOGETHER],
        )
        for row in together.collect():
            result.setdefault((row["label"], row["name"]), []).append(row["shown"])
    odd = {key: rows for key, rows in result.items() if key[1] == "odd"}
    compared = {
        key: ordered([read_back(text, tables[key]) for text in rows]) if key in tables else rows
        for key, rows in result.items()
        if key[1] != "odd"
    }
    wrong = {key: (compared.get(key), rows) for key, rows in expected.items() if compared.get(key) != rows}
    assert not odd, "\n".join(f"{key} odd: {rows}" for key, rows in odd.items())
    assert not wrong, "\n".join(
        f"{key}\n  {item}\n  {right_frame}" for key, (item, right_frame) in wrong.items()
    )
    unexpected = {key: rows for key, rows in compared.items() if key not in expected}
    assert not unexpected, "\n".join(f"{key} unexpected: {rows}" for key, rows in unexpected.items())


def batches_of(number: int) -> Iterator[Batch]:
    case = rowset(number)
    stored = Schema.from_dict(case.document).stored
    for index, batch in enumerate(case.batches):
        yield f"{number}.{index}", stored, batch
        stored = decide(stored, "t", gather(batch)).schema


def in_ci(starts: range) -> list[Any]:
    """Return the chosen cases: the first ones in CI, all of them at length."""
    return [pytest.param(start, marks=pytest.mark.at_length if start else ()) for start in starts]


@pytest.mark.parametrize("start", in_ci(range(0, SETS, CHUNK)))
def test_row_sets_are_converted_like_the_reference(quick: SparkSession, start: int) -> None:
    compare(quick, (batch for number in range(start, start + CHUNK) for batch in batches_of(number)))


def test_hostile_rows_are_converted_like_the_reference(quick: SparkSession) -> None:
    stored = Schema("shop").stored
    remaining = [item for item in ALL if isinstance(item, ExtractedRow) and item.name not in LARGE]
    plain = [item.row if isinstance(item.row, dict) else item.value for item in remaining]
    alone = [(item.name, stored, [row]) for item, row in zip(remaining, plain, strict=True)]
    if not AT_LENGTH:
        alone = random.Random(SEED).sample(alone, 12)

    compare(quick, [*alone, ("all together", stored, plain)])


def test_hard_rows_are_converted_like_the_reference(quick: SparkSession) -> None:
    stored = Schema("shop").stored

    compare(quick, [(name, stored, rows) for name, rows in HARD.items()])


def surprises(decision: Decision, learned: RowProfile, row: Any, number: int) -> bool:
    """Return whether a row has a value that earlier rows did not have, or that no decided column accepts."""
    for path, _, value in walk_values(row, number):
        if any(
            is_kept_as_json(decision, path[:end], form) for end in range(len(path)) for form in CONTAINERS
        ):
            continue
        form, result = decode_value(value)
        existing = learned.forms.get(path, frozenset())
        is_strict = path in strict_fractions(decision)
        if form == "null" or (
            form == "whole" and existing == {"fraction"} and abs(value) <= 2**53 and not is_strict
        ):
            continue
        if form == "large" and "fraction" in existing and (len(existing) > 1 or is_strict):
            continue
        if form not in existing:
            return True
        rule = decision.rules.get((path, observe_value(result).type))
        chain = [] if rule is None else list(all_of(rule))
        if chain and all(item.action in ("keep", "convert") for item in chain) and not takes(chain, result):
            return True
    return False


def all_of(rule: Rule | None) -> Iterator[Rule]:
    while rule is not None:
        yield rule
        rule = rule.otherwise


def takes(chain: list[Rule], value: Any) -> bool:
    kind, held = typed_value(value)
    for rule in chain:
        try:
            convert_value(held, kind, rule.data_type or "text")
        except ValueError:
            continue
        return True
    return False


@pytest.mark.parametrize("compares_texts", [False, True])
@pytest.mark.parametrize("start", in_ci(range(0, SETS, 20)))
def test_rows_unlike_earlier_ones_are_found(quick: SparkSession, start: int, *, compares_texts: bool) -> None:
    expected: set[tuple[str, str]] = set()
    found_frames: list[DataFrame] = []
    rows_seen = 0
    for number in range(start, start + 20):
        case = rowset(number)
        learned = profile_rows(encode(row) for row in case.batches[0])
        decision = decide(Schema.from_dict(case.document).stored, "t", learned.evidence)
        dataset = plan_layout(decision, learned)
        later = [row for batch in case.batches for row in batch]
        rows_seen += len(later)
        texts = [encode(row).decode() for row in later]
        expected |= {
            (str(number), text)
            for index, text in enumerate(texts)
            if surprises(decision, learned, orjson.loads(text), index)
        }
        check = partial(unexpected_rows, decision, dataset, learned, compares_texts=compares_texts)
        nested = parse_rows(raw_rows(quick, texts), dataset, check)
        found_frames.append(
            nested.where("raw IS NOT NULL").selectExpr(f"'{number}' AS label", "raw.text AS text")
        )
    together = reduce(lambda left_frame, right_frame: left_frame.unionAll(right_frame), found_frames)
    result = {(row["label"], row["text"]) for row in together.collect()}

    assert expected - result == set(), "a surprise that is not found is a value that is lost"
    assert result - expected == set()
    assert 0 < len(result) < rows_seen
