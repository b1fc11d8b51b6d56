"""Spark reads literals and identifiers as written, in sessions that substitute variables too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conftest import SEED
from tests.corpus.hostile_texts import Hostile

from penstock.package.sql import variant_value
from penstock.schema.spark_sql import literal, quote_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_reads_each_literal_as_its_text(spark: SparkSession) -> None:
    texts = Hostile(SEED).texts(3_000)
    assert spark.conf.get("spark.sql.variable.substitute") == "true"

    result = spark.sql(f"SELECT array({', '.join(map(literal, texts))})").collect()[0][0]

    assert [pair for pair in zip(result, texts, strict=True) if pair[0] != pair[1]] == []


def test_spark_reads_each_identifier_and_each_key_of_a_variant(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.variable.substitute", "false")
    names = Hostile(SEED).texts(400)
    columns = ", ".join(f"{number} AS {quote_name(name)}" for number, name in enumerate(names))
    row = session.sql(
        f"SELECT named_struct({', '.join(f'{literal(n)}, {i}' for i, n in enumerate(names))}) AS v"
    )
    keys = (variant_value("v", (name,), "int") for name in names)

    assert session.sql(f"SELECT {columns}").columns == names
    result = (
        row.selectExpr("to_variant_object(v) AS v").selectExpr(f"array({', '.join(keys)})").collect()[0][0]
    )
    assert result == list(range(len(names)))
