from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.paths import local_path, spark_path


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ("/lake/a b%20c", "file:///lake/a b%20c"),
        ("file:///lake/a%20b", "file:///lake/a b"),
        ("file:/lake", "file:///lake"),
        ("s3://bucket/lake", "s3a://bucket/lake"),
        ("s3a://bucket/lake", "s3a://bucket/lake"),
        ("gcs://bucket/lake", "gs://bucket/lake"),
        ("az://box@account/lake", "abfs://box@account/lake"),
        ("hdfs://name:8020/lake", "hdfs://name:8020/lake"),
    ],
)
def test_spark_gets_the_address_in_hadoops_words(location: str, address: str) -> None:
    assert spark_path(location) == address


def test_a_relative_path_is_made_absolute() -> None:
    assert spark_path("lake") == f"file://{Path.cwd()}/lake"


@pytest.mark.parametrize("location", ["s3://bucket/lake", "hdfs:///lake", "memory://x"])
def test_an_address_elsewhere_has_no_local_path(location: str) -> None:
    assert local_path(location) is None


def test_a_local_path_is_recognized_with_and_without_a_scheme() -> None:
    assert local_path("file:///lake/a%20b") == local_path("/lake/a b") == Path("/lake/a b")
