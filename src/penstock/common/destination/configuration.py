"""The format of CSV files, by the import path of newer versions of dlt."""

from penstock.interfaces.configuration import CsvFormatConfiguration, CsvQuoting

__all__ = ["CsvFormatConfiguration", "CsvQuoting"]
