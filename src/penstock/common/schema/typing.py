"""Types of schema documents, by dlt's import path."""

from penstock.compat.types import TColumnType, TSimpleRegex, TTableSchemaColumns
from penstock.interfaces import TTableFormat
from penstock.pipeline.types import TAnySchemaColumns, TColumnNames, TSchemaContract, TWriteDispositionConfig
from penstock.schema import (
    COLUMN_HINTS,
    TColumnSchema,
    TSchemaTables,
    TStoredSchema,
    TTableSchema,
    TWriteDisposition,
)
from penstock.schema import DataType as TDataType
from penstock.schema.contract import ContractSettings as TSchemaContractDict
from penstock.schema.contract import EvolutionMode as TSchemaEvolutionMode
from penstock.schema.defaults import SYSTEM_PREFIX as DLT_NAME_PREFIX

__all__ = [
    "COLUMN_HINTS",
    "DLT_NAME_PREFIX",
    "TAnySchemaColumns",
    "TColumnNames",
    "TColumnSchema",
    "TColumnType",
    "TDataType",
    "TSchemaContract",
    "TSchemaContractDict",
    "TSchemaEvolutionMode",
    "TSchemaTables",
    "TSimpleRegex",
    "TStoredSchema",
    "TTableFormat",
    "TTableSchema",
    "TTableSchemaColumns",
    "TWriteDisposition",
    "TWriteDispositionConfig",
]
