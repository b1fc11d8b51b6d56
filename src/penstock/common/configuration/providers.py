"""Providers of settings, by dlt's import path."""

from penstock.config import ConfigProvider, CustomLoaderDocProvider
from penstock.config.providers import EnvironmentProvider as EnvironProvider

__all__ = ["ConfigProvider", "CustomLoaderDocProvider", "EnvironProvider"]
