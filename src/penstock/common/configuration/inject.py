"""Arguments from settings, by dlt's import path."""

from penstock.config import get_fun_spec, with_config

__all__ = ["get_fun_spec", "with_config"]
