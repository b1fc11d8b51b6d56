"""Functions for tables of ConnectorX, by dlt's import path."""

from penstock.sources.frame_steps import unwrap_json_connector_x

__all__ = ["unwrap_json_connector_x"]
