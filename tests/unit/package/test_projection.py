from __future__ import annotations

import json
from typing import get_args

import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.package.projection.convert import converted_value
from penstock.package.projection.explode import SelectStep, id_digest, projection_steps
from penstock.package.projection.model import (
    ColumnValue,
    FieldAccess,
    Level,
    OutputColumn,
    Projection,
    RowExclusion,
)
from penstock.package.projection.typed_values import StorageForm, ValueType, typed_value
from penstock.package.sql import literal, quote_name
from penstock.schema.types import DATA_TYPES

names = st.text(min_size=1, max_size=8) | st.text("a`'.\\ \n\"", min_size=1, max_size=8)
paths = st.lists(names, max_size=3).map(tuple)
accesses = st.builds(FieldAccess, path=paths, inside=paths)
kinds = st.sampled_from(get_args(ValueType))
stored = st.sampled_from(get_args(StorageForm))
types = st.sampled_from(DATA_TYPES)
values = st.builds(
    ColumnValue,
    at=accesses,
    stored=stored,
    kind=kinds,
    to=types,
    unless=st.lists(types, max_size=2).map(tuple),
)
columns = st.builds(
    OutputColumn,
    name=names,
    sql_type=st.sampled_from(("STRING", "BIGINT", "DECIMAL(38,9)")),
    values=st.lists(values, max_size=3).map(tuple),
)
levels = st.builds(
    Level,
    table=names,
    lists=st.lists(st.tuples(accesses, st.none() | st.just("mixed")), min_size=1, max_size=2).map(tuple),
    own_id=st.none() | columns,
    passed=st.lists(columns, max_size=1).map(tuple),
    passes_id=st.lists(names, max_size=1).map(tuple),
    refused=st.lists(st.builds(RowExclusion, at=accesses, stored=stored, kind=kinds), max_size=1).map(tuple),
)
projections = st.builds(
    Projection,
    levels=st.lists(levels, min_size=1, max_size=3).map(tuple),
    columns=st.lists(columns, max_size=3).map(tuple),
    inherited=st.lists(st.tuples(names, st.just("STRING")), max_size=1).map(tuple),
    is_partial=st.booleans(),
    is_root=st.booleans(),
    order=st.lists(names, max_size=2).map(tuple),
)

ROOT = Level(table="t")
TAGS = Level(table="t__a__tags", lists=((FieldAccess(path=("a", "tags")), None),))


def plain(name: str, *path: str, kind: str = "text", sql_type: str = "STRING") -> OutputColumn:
    value = ColumnValue(at=FieldAccess(path=path), stored=kind, kind=kind, to=kind)  # type: ignore[arg-type]  # a name of both
    return OutputColumn(name=name, sql_type=sql_type, values=(value,))


def test_a_root_table_is_one_select_with_its_system_columns_last() -> None:
    projection = Projection(
        levels=(ROOT,),
        columns=(
            plain("id", "id", kind="bigint", sql_type="BIGINT"),
            plain("seller__city", "seller", "city"),
        ),
    )

    assert projection_steps(projection, load_id="17.5") == [
        SelectStep(
            (
                "CAST(`row`.`id` AS BIGINT) AS `id`",
                "CAST(`row`.`seller`.`city` AS STRING) AS `seller__city`",
                "'17.5' AS `_dlt_load_id`",
                "`id` AS `_dlt_id`",
            )
        )
    ]


def test_columns_are_in_the_order_of_the_table() -> None:
    projection = Projection(
        levels=(ROOT,), columns=(plain("a", "a"), plain("b", "b")), order=("b", "_dlt_id", "a")
    )

    (last,) = projection_steps(projection, load_id="17.5")

    assert [one.rsplit(" ", 1)[1] for one in last.columns] == ["`b`", "`_dlt_id`", "`a`", "`_dlt_load_id`"]


def test_a_nested_table_explodes_its_list_and_has_a_parent_id() -> None:
    child = "concat(`parent`, '_', 't__a__tags', '_', CAST(`idx` AS STRING))"
    projection = Projection(levels=(ROOT, TAGS), columns=(plain("value"),), is_root=False)

    assert projection_steps(projection, load_id="17.5") == [
        SelectStep(("`id` AS `parent`", "posexplode(`row`.`a`.`tags`) AS (`idx`, `row`)")),
        SelectStep(("`parent`", "`idx`", f"{id_digest(child)} AS `id`", "`row`")),
        SelectStep(
            (
                "CAST(`row` AS STRING) AS `value`",
                "`parent` AS `_dlt_parent_id`",
                "CAST(`idx` AS BIGINT) AS `_dlt_list_idx`",
                "`id` AS `_dlt_id`",
            )
        ),
    ]


def test_a_list_of_lists_is_exploded_twice() -> None:
    projection = Projection(
        levels=(
            ROOT,
            Level(table="t__m", lists=((FieldAccess(path=("m",)), None),)),
            Level(table="t__m__list", lists=((FieldAccess(), None),)),
        ),
        columns=(plain("value", kind="bigint", sql_type="BIGINT"),),
        is_root=False,
    )

    steps = projection_steps(projection, load_id="17.5")

    assert [step.columns[1] for step in steps[0:4:2]] == [
        "posexplode(`row`.`m`) AS (`idx`, `row`)",
        "posexplode(`row`) AS (`idx`, `row`)",
    ]
    assert len(steps) == 5
    assert "'t__m'" in steps[1].columns[2]
    assert "'t__m__list'" in steps[3].columns[2]


def test_excluded_rows_are_left_out_with_their_nested_rows() -> None:
    refused = RowExclusion(at=FieldAccess(path=("x",)), stored="bigint", kind="bigint")
    projection = Projection(
        levels=(Level(table="t", refused=(refused,), passes_id=("_dlt_root_id",)), TAGS),
        columns=(plain("value"),),
        inherited=(("_dlt_root_id", "STRING"),),
        is_partial=True,
        is_root=False,
    )

    first, *_, last = projection_steps(projection, load_id="17.5")

    assert first == SelectStep(
        ("`id`", "`row`", "`id` AS `_dlt_root_id`"), "`raw` IS NULL AND NOT (`row`.`x` IS NOT NULL)"
    )
    assert "CAST(`_dlt_root_id` AS STRING) AS `_dlt_root_id`" in last.columns


def test_a_computed_value_is_extracted_once() -> None:
    at = FieldAccess(path=("x",))
    projection = Projection(
        levels=(ROOT,),
        columns=(
            OutputColumn(
                name="x",
                sql_type="BIGINT",
                values=(
                    ColumnValue(at=at, stored="mixed", kind="bigint", to="bigint"),
                    ColumnValue(at=at, stored="mixed", kind="text", to="bigint"),
                ),
            ),
            OutputColumn(
                name="x__v_text",
                sql_type="STRING",
                values=(ColumnValue(at=at, stored="mixed", kind="text", to="text", unless=("bigint",)),),
            ),
        ),
    )

    picks, last = projection_steps(projection, load_id="17.5")

    assert picks.columns[2:] == (
        f"{typed_value('`row`.`x`', 'mixed', 'bigint')} AS `v0`",
        f"{typed_value('`row`.`x`', 'mixed', 'text')} AS `v1`",
    )
    number = converted_value("`v1`", "text", "bigint")
    assert last.columns[:2] == (
        f"CAST(coalesce(`v0`, {number}) AS BIGINT) AS `x`",
        f"CAST(CASE WHEN {number} IS NULL THEN `v1` END AS STRING) AS `x__v_text`",
    )


def test_an_id_in_the_data_is_used() -> None:
    projection = Projection(levels=(Level(table="t", own_id=plain("_dlt_id", "_dlt_id")),))

    first, last = projection_steps(projection, load_id="17.5")

    assert first.columns == ("coalesce(CAST(`row`.`_dlt_id` AS STRING), `id`) AS `id`", "`row`")
    assert last.columns[-1] == "`id` AS `_dlt_id`"


@given(projection=projections)
def test_a_projection_round_trips(projection: Projection) -> None:
    document = json.loads(json.dumps(projection.to_dict()))

    assert Projection.from_dict(document) == projection


@given(path=paths, name=names)
def test_no_key_leaves_its_quotes(path: tuple[str, ...], name: str) -> None:
    (select,) = projection_steps(Projection(levels=(ROOT,), columns=(plain(name, *path),)), load_id="17.5")

    parsed = sqlglot.parse_one(f"SELECT {select.columns[0]}", dialect="spark")
    assert isinstance(parsed, exp.Select)
    assert [found.alias for found in parsed.selects] == [name]
    assert {found.name for found in parsed.find_all(exp.Identifier)} == {"row", *path, name}


@given(name=names)
def test_names_and_texts_round_trip_through_sql(name: str) -> None:
    identifier = sqlglot.parse_one(quote_name(name), dialect="spark").find(exp.Identifier)
    text = sqlglot.parse_one(literal(name), dialect="spark")

    assert identifier is not None
    assert identifier.name == name
    assert text.this == name


def test_an_id_has_eighty_bits_in_fourteen_characters() -> None:
    assert id_digest("`x`") == "left(base64(substring(unhex(sha2(`x`, 256)), 1, 10)), 14)"
