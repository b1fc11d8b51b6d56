"""The format of CSV files, by dlt's import path."""

from penstock.interfaces.configuration import CsvFormatConfiguration, CsvQuoting

__all__ = ["CsvFormatConfiguration", "CsvQuoting"]
