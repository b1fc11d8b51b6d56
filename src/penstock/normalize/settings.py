"""Settings of the section `[normalize]`."""

from __future__ import annotations

from penstock.config import BaseConfiguration, configspec


@configspec
class NormalizeConfiguration(BaseConfiguration):
    """Settings for rows that are refused or cannot be read.

    >>> NormalizeConfiguration().quarantine
    True
    """

    quarantine: bool = True
    """Whether rows that the schema contract refuses or that cannot be read are kept in `_dlt_quarantine`.
    They are counted either way."""
