"""Tables, columns, types, names and how they change: pure values.

Takes:   schema documents of dlt and penstock, names as sources spell them.
Gives:   frozen tables and columns, names that fit, Spark types, fingerprints.
Touches: errors.
"""

from penstock.schema.column import COLUMN_HINTS, COMPOUND_HINTS, Column, TColumnSchema
from penstock.schema.contract import Contract, ContractSettings, contract_of
from penstock.schema.hashes import content_hash, versioned
from penstock.schema.migrate import ENGINE_VERSION
from penstock.schema.names import NamingConvention, naming
from penstock.schema.schema import Schema
from penstock.schema.stored import StoredSchema, TStoredSchema, check_schema_name
from penstock.schema.table import Table, TTableSchema, WriteDisposition
from penstock.schema.types import DATA_TYPES, DataType, data_type, spark_type
from penstock.schema.unique import NameCollision, collisions, plain_name, unique_names

__all__ = [
    "COLUMN_HINTS",
    "COMPOUND_HINTS",
    "DATA_TYPES",
    "ENGINE_VERSION",
    "Column",
    "Contract",
    "ContractSettings",
    "DataType",
    "NameCollision",
    "NamingConvention",
    "Schema",
    "StoredSchema",
    "TColumnSchema",
    "TStoredSchema",
    "TTableSchema",
    "Table",
    "WriteDisposition",
    "check_schema_name",
    "collisions",
    "content_hash",
    "contract_of",
    "data_type",
    "naming",
    "plain_name",
    "spark_type",
    "unique_names",
    "versioned",
]
