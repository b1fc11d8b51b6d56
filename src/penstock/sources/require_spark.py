"""Says what to install where Spark is missing; imported first by the sources that Spark reads."""

from __future__ import annotations

from importlib.util import find_spec

from penstock.errors import MissingExtra

if find_spec("pyspark") is None:
    raise MissingExtra(extra="spark", needed_for="a source that Spark reads")
