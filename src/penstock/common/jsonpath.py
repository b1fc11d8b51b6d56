"""Values at a JSONPath, by dlt's import path."""

from penstock.compat.values import TAnyJsonPath, TJsonPath, find_values

__all__ = ["TAnyJsonPath", "TJsonPath", "find_values"]
