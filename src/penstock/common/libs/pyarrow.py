"""The library pyarrow, by dlt's import path."""

import pyarrow

__all__ = ["pyarrow"]
