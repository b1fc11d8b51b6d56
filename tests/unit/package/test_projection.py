from __future__ import annotations

import json

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.package.projection import Conversion, ListStep, OutputColumn, Projection, digest, untagged
from penstock.package.sql import literal, quoted

names = st.text(min_size=1, max_size=8) | st.text("a`'.\\ \n\"", min_size=1, max_size=8)
columns = st.builds(
    OutputColumn,
    name=names,
    path=st.lists(names, max_size=3).map(tuple),
    sql_type=st.sampled_from(("STRING", "BIGINT", "DECIMAL(38,9)")),
    conversion=st.sampled_from(("as_is", "parse", "text", "binary", "json", "number")),
    tagged=st.booleans(),
)
projections = st.builds(
    Projection,
    steps=st.lists(
        st.builds(ListStep, path=st.lists(names, max_size=2).map(tuple), table=names), max_size=3
    ).map(tuple),
    columns=st.lists(columns, max_size=3).map(tuple),
)


def select(projection: Projection) -> list[str]:
    *_, last = projection.selects(load_id="17.5")
    return last


def converted(conversion: Conversion, *, tagged: bool = False, sql_type: str = "DATE") -> str:
    column = OutputColumn(name="c", path=("a",), sql_type=sql_type, conversion=conversion, tagged=tagged)
    return select(Projection(columns=(column,)))[0]


def test_a_root_table_is_one_select_with_its_system_columns_last() -> None:
    projection = Projection(
        columns=(
            OutputColumn(name="id", path=("id",), sql_type="BIGINT"),
            OutputColumn(name="seller__city", path=("seller", "city"), sql_type="STRING", conversion="text"),
        )
    )

    assert projection.selects(load_id="17.5") == [
        [
            "CAST(`row`.`id` AS BIGINT) AS `id`",
            "CAST(`row`.`seller`.`city` AS STRING) AS `seller__city`",
            "'17.5' AS `_dlt_load_id`",
            "`id` AS `_dlt_id`",
        ]
    ]


def test_a_child_table_steps_into_its_list_and_points_to_its_parent() -> None:
    child = "concat(`parent`, '_', 't__a__tags', '_', CAST(`idx` AS STRING))"
    projection = Projection(
        steps=(ListStep(path=("a", "tags"), table="t__a__tags"),),
        columns=(OutputColumn(name="value", path=(), sql_type="STRING", conversion="text"),),
    )

    assert projection.selects(load_id="17.5") == [
        ["`id` AS `parent`", "posexplode(`row`.`a`.`tags`) AS (`idx`, `row`)"],
        [
            "`parent`",
            "`idx`",
            f"{digest(child)} AS `id`",
            "`row`",
        ],
        [
            "CAST(`row` AS STRING) AS `value`",
            "`parent` AS `_dlt_parent_id`",
            "CAST(`idx` AS BIGINT) AS `_dlt_list_idx`",
            "`id` AS `_dlt_id`",
        ],
    ]


def test_a_list_of_lists_is_stepped_into_twice() -> None:
    projection = Projection(
        steps=(ListStep(path=("m",), table="t__m"), ListStep(path=(), table="t__m__list")),
        columns=(OutputColumn(name="value", path=(), sql_type="BIGINT"),),
    )

    selects = projection.selects(load_id="17.5")

    assert [step[1] for step in selects[0:4:2]] == [
        "posexplode(`row`.`m`) AS (`idx`, `row`)",
        "posexplode(`row`) AS (`idx`, `row`)",
    ]
    assert len(selects) == 5
    assert "'t__m'" in selects[1][2]
    assert "'t__m__list'" in selects[3][2]


@pytest.mark.parametrize(
    ("conversion", "sql"),
    [
        ("as_is", "CAST(`row`.`a` AS DATE) AS `c`"),
        ("parse", "try_cast(`row`.`a` AS DATE) AS `c`"),
        ("text", "CAST(`row`.`a` AS STRING) AS `c`"),
        ("binary", "unbase64(`row`.`a`) AS `c`"),
    ],
)
def test_a_conversion_without_tags_is_a_plain_cast(conversion: Conversion, sql: str) -> None:
    assert converted(conversion) == sql


@pytest.mark.parametrize(
    ("conversion", "sql"),
    [
        ("parse", "try_cast({} AS DATE) AS `c`"),
        ("text", "CAST({} AS STRING) AS `c`"),
        ("binary", "unbase64({}) AS `c`"),
    ],
)
def test_a_tag_is_taken_off_before_the_conversion(conversion: Conversion, sql: str) -> None:
    bare = (
        "CASE WHEN substring(`row`.`a`, 1, 1) BETWEEN '\uf026' AND '\uf02f'"
        " THEN substring(`row`.`a`, 2) ELSE `row`.`a` END"
    )

    assert untagged("`row`.`a`") == bare
    assert converted(conversion, tagged=True) == sql.format(bare)


def test_a_typed_value_is_cast_as_it_is_even_where_texts_are_tagged() -> None:
    assert converted("as_is", tagged=True) == converted("as_is")


def test_mixed_values_become_json_text_without_tags_and_without_the_null_of_json() -> None:
    assert converted("json") == (
        "regexp_replace(nullif(to_json(`row`.`a`), 'null'), '(?<!\\\\\\\\)\"[\uf026-\uf02f]', '\"') AS `c`"
    )


def test_mixed_numbers_go_through_text_because_some_are_tagged() -> None:
    value = "try_variant_get(`row`.`a`, '$', 'string')"

    assert converted("number", sql_type="DOUBLE") == f"try_cast({untagged(value)} AS DOUBLE) AS `c`"


@given(projection=projections)
def test_a_projection_reads_back_from_a_job_file(projection: Projection) -> None:
    document = json.loads(json.dumps(projection.to_dict()))

    assert Projection.from_dict(document) == projection


@given(column=columns)
def test_whatever_a_key_is_it_stays_inside_its_quotes(column: OutputColumn) -> None:
    first = select(Projection(columns=(column,)))[0]

    parsed = sqlglot.parse_one(f"SELECT {first}", dialect="spark")
    assert isinstance(parsed, exp.Select)
    assert [found.alias for found in parsed.selects] == [column.name]
    assert {found.name for found in parsed.find_all(exp.Identifier)} == {"row", *column.path, column.name}


@given(name=names)
def test_a_name_and_a_text_read_back_from_sql(name: str) -> None:
    identifier = sqlglot.parse_one(quoted(name), dialect="spark").find(exp.Identifier)
    text = sqlglot.parse_one(literal(name), dialect="spark")

    assert identifier is not None
    assert identifier.name == name
    assert text.this == name


def test_an_id_has_eighty_bits_in_fourteen_characters() -> None:
    assert digest("`x`") == "left(base64(substring(unhex(sha2(`x`, 256)), 1, 10)), 14)"
