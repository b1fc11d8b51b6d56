from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.interfaces.job_file_name import ParsedLoadJobFileName

parts = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="./\\", exclude_categories=["Cc"]),
    min_size=1,
    max_size=10,
)


@given(table=parts, file_id=parts, retries=st.integers(0, 99), file_format=parts)
def test_a_name_reads_back_as_written_and_so_does_a_path_to_it(
    table: str, file_id: str, retries: int, file_format: str
) -> None:
    name = ParsedLoadJobFileName(table, file_id, retries, file_format)

    assert ParsedLoadJobFileName.parse(name.file_name()) == name
    assert ParsedLoadJobFileName.parse(f"s3://lake/packages/17.5/new_jobs/{name.file_name()}") == name


def test_a_retry_changes_the_file_and_not_the_job() -> None:
    name = ParsedLoadJobFileName.parse("items.5c1c2f0d11.0.reference")

    again = name.with_retry().with_retry()

    assert again.file_name() == "items.5c1c2f0d11.2.reference"
    assert again.job_id() == name.job_id() == "items.5c1c2f0d11.reference"


@pytest.mark.parametrize(
    "name", ["", "items", "items.x.0", "items.x.zero.reference", "a.b.c.0.d", ".x.0.d", "a.x.-1.d"]
)
def test_an_invalid_job_file_name_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match="invalid job file name"):
        ParsedLoadJobFileName.parse(name)
