"""A source without its packages names the extra to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

IMPORT_WITHOUT_MODULE = """
import sys
sys.modules["{missing}"] = None
import penstock
import penstock.sources.{source}
"""


@pytest.mark.parametrize(
    ("source", "missing", "extra"),
    [
        ("sql_database", "pyspark", "spark"),
        ("filesystem", "pyspark", "spark"),
        ("rest_api", "requests", "rest"),
        ("rest", "requests", "rest"),
    ],
)
def test_a_missing_package_is_reported_with_its_extra(source: str, missing: str, extra: str) -> None:
    code = IMPORT_WITHOUT_MODULE.format(source=source, missing=missing)

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert f"what to do: pip install 'penstock[{extra}]'" in done.stderr
