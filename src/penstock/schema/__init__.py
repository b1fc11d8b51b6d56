"""Schemas as pure values: tables, columns, types, names, and the changes that data makes to them.

Input:   schema documents of dlt and penstock, names as sources spell them, evidence from rows.
Output:  frozen tables and columns, normalized names, Spark types, version hashes, decisions.
Imports: errors.
"""

from penstock.schema.column import COLUMN_HINTS, COMPOUND_HINTS, Column, TColumnSchema
from penstock.schema.column_names import NameCollision, find_key_collisions, plain_name, unique_names
from penstock.schema.contract import Contract, ContractSettings, effective_contract
from penstock.schema.decide import decide
from penstock.schema.decision import ContractRefusal, Decision, Rule
from penstock.schema.document import export_schema, import_schema, schema_file_name
from penstock.schema.evidence import Evidence, gather, merge_evidence
from penstock.schema.inference_options import InferenceOptions
from penstock.schema.migrations import ENGINE_VERSION
from penstock.schema.naming import NamingConvention, naming_convention
from penstock.schema.pydantic_models import columns_of_model, contract_of_model
from penstock.schema.relations import TableRelation, relations
from penstock.schema.schema import Schema
from penstock.schema.spark_types import spark_type
from penstock.schema.stored_schema import (
    StoredSchema,
    TStoredSchema,
    check_schema_name,
    content_hash,
    stamp_version,
)
from penstock.schema.system_columns import root_table
from penstock.schema.table import Table, TSchemaTables, TTableSchema, TWriteDisposition
from penstock.schema.type_limits import TypeLimits
from penstock.schema.types import DATA_TYPES, DataType, parse_data_type
from penstock.schema.value_path import EACH, ValuePath, parse_path, path_text

__all__ = [
    "COLUMN_HINTS",
    "COMPOUND_HINTS",
    "DATA_TYPES",
    "EACH",
    "ENGINE_VERSION",
    "Column",
    "Contract",
    "ContractRefusal",
    "ContractSettings",
    "DataType",
    "Decision",
    "Evidence",
    "InferenceOptions",
    "NameCollision",
    "NamingConvention",
    "Rule",
    "Schema",
    "StoredSchema",
    "TColumnSchema",
    "TSchemaTables",
    "TStoredSchema",
    "TTableSchema",
    "TWriteDisposition",
    "Table",
    "TableRelation",
    "TypeLimits",
    "ValuePath",
    "check_schema_name",
    "columns_of_model",
    "content_hash",
    "contract_of_model",
    "decide",
    "effective_contract",
    "export_schema",
    "find_key_collisions",
    "gather",
    "import_schema",
    "merge_evidence",
    "naming_convention",
    "parse_data_type",
    "parse_path",
    "path_text",
    "plain_name",
    "relations",
    "root_table",
    "schema_file_name",
    "spark_type",
    "stamp_version",
    "unique_names",
]
