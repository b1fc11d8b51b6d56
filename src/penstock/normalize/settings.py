"""Settings of the section `[normalize]`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from penstock.config import BaseConfiguration, configspec


@configspec
class NormalizeConfiguration(BaseConfiguration):
    """Settings for rows that are refused or cannot be read, and for small tables.

    >>> NormalizeConfiguration().quarantine
    True
    """

    quarantine: bool = True
    """Whether rows that the schema contract refuses or that cannot be read are kept in `_dlt_quarantine`.
    They are counted either way."""
    driver_rows: Annotated[int, Field(ge=0)] = 20_000
    """How many rows of small tables the driver writes itself in each package, without a Spark job; 0: none.
    A table is small if it has at most 5,000 rows in the package. Spark always writes merged tables."""
