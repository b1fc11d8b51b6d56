"""How rows are normalized: the `[normalize]` section of the settings."""

from __future__ import annotations

from penstock.config import BaseConfiguration, configspec


@configspec
class NormalizeConfiguration(BaseConfiguration):
    """What becomes of rows that are refused.

    >>> NormalizeConfiguration().quarantine
    True
    """

    quarantine: bool = True
    """Rows that the schema contract refuses, or that nothing can be made of, are kept in `_dlt_quarantine`.
    They are counted either way."""
