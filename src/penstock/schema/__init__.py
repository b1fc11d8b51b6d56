"""Tables, columns, types, names and how they change: pure values.

Takes:   schema documents of dlt and penstock, names as sources spell them.
Gives:   frozen tables and columns, names that fit, Spark types, fingerprints.
Touches: errors.
"""

from penstock.schema.column import COLUMN_HINTS, COMPOUND_HINTS, Column, TColumnSchema
from penstock.schema.contract import Contract, ContractSettings, contract_of
from penstock.schema.decide import decide
from penstock.schema.decision import Decision, Refusal, Rule
from penstock.schema.evidence import Evidence, gather, merged
from penstock.schema.hashes import content_hash, versioned
from penstock.schema.imports import exported, imported, schema_file_name
from penstock.schema.migrate import ENGINE_VERSION
from penstock.schema.models import columns_of_model, contract_of_model
from penstock.schema.names import NamingConvention, naming
from penstock.schema.path import EACH, Path, path_of, path_text
from penstock.schema.relations import Relation, relations
from penstock.schema.rootkeys import root_of
from penstock.schema.schema import Schema
from penstock.schema.sparktypes import spark_type
from penstock.schema.stored import StoredSchema, TStoredSchema, check_schema_name
from penstock.schema.table import Table, TSchemaTables, TTableSchema, TWriteDisposition
from penstock.schema.terms import Terms
from penstock.schema.types import DATA_TYPES, DataType, data_type
from penstock.schema.unique import NameCollision, collisions, plain_name, unique_names

__all__ = [
    "COLUMN_HINTS",
    "COMPOUND_HINTS",
    "DATA_TYPES",
    "EACH",
    "ENGINE_VERSION",
    "Column",
    "Contract",
    "ContractSettings",
    "DataType",
    "Decision",
    "Evidence",
    "NameCollision",
    "NamingConvention",
    "Path",
    "Refusal",
    "Relation",
    "Rule",
    "Schema",
    "StoredSchema",
    "TColumnSchema",
    "TSchemaTables",
    "TStoredSchema",
    "TTableSchema",
    "TWriteDisposition",
    "Table",
    "Terms",
    "check_schema_name",
    "collisions",
    "columns_of_model",
    "content_hash",
    "contract_of",
    "contract_of_model",
    "data_type",
    "decide",
    "exported",
    "gather",
    "imported",
    "merged",
    "naming",
    "path_of",
    "path_text",
    "plain_name",
    "relations",
    "root_of",
    "schema_file_name",
    "spark_type",
    "unique_names",
    "versioned",
]
