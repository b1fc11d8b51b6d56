"""A naming convention of a third party, as a module: names in upper case."""

from __future__ import annotations

from penstock.schema.naming import SnakeCase


class NamingConvention(SnakeCase):
    """Snake case in upper case."""

    __slots__ = ()
    name = "upper_case"

    def clean(self, identifier: str) -> str:
        return SnakeCase.clean(self, identifier).upper()
