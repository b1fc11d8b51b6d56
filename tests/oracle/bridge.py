"""Answers questions as dlt does. Runs in a Python that has dlt, and knows nothing of penstock.

One JSON document `{"ask": ..., ...}` comes on standard input, one goes to standard output.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from copy import deepcopy
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt
from dlt.common.destination import DestinationCapabilitiesContext
from dlt.common.json import json as typed_json
from dlt.common.json import may_have_pua
from dlt.common.normalizers.naming import direct, duck_case, snake_case, sql_ci_v1, sql_cs_v1
from dlt.common.schema import Schema
from dlt.common.schema.exceptions import DataValidationError
from dlt.common.storages import SchemaStorage, SchemaStorageConfiguration
from dlt.normalize.configuration import NormalizeConfiguration
from dlt.normalize.items_normalizers.jsonl import JsonLItemsNormalizer
from dlt.pipeline.exceptions import PipelineStepFailed

CONVENTIONS = {
    "snake_case": snake_case,
    "sql_ci_v1": sql_ci_v1,
    "sql_cs_v1": sql_cs_v1,
    "direct": direct,
    "duck_case": duck_case,
}


def names(question: dict[str, Any]) -> list[list[str]]:
    naming = CONVENTIONS[question["convention"]].NamingConvention(question["max_length"])
    return [[naming.normalize_identifier(raw), naming.normalize_path(raw)] for raw in question["raw"]]


def schema(question: dict[str, Any]) -> dict[str, Any]:
    """Open a schema document, and say how dlt writes it again."""

    # Each answer from a fresh one: writing a document may count a version.
    def opened() -> Any:
        return Schema.from_dict(deepcopy(question["document"]))

    return {
        "modified": opened().is_modified,
        "document": opened().to_dict(),
        "yaml": opened().to_pretty_yaml(),
        "json": opened().to_pretty_json(),
        "bare_yaml": opened().to_pretty_yaml(remove_processing_hints=True),
    }


def schemas(question: dict[str, Any]) -> list[dict[str, Any]]:
    return [schema({"document": document}) for document in question["documents"]]


def value(coded: Any) -> Any:
    """Read a value that JSON has no type for: `{"$": type, "v": text}`."""
    if isinstance(coded, list):
        return [value(one) for one in coded]
    if not isinstance(coded, dict):
        return coded
    if "$" not in coded:
        return {key: value(one) for key, one in coded.items()}
    readers: dict[str, Any] = {
        "decimal": Decimal,
        "timestamp": datetime.fromisoformat,
        "date": date.fromisoformat,
        "time": time.fromisoformat,
        "binary": bytes.fromhex,
    }
    return readers[coded["$"]](coded["v"])


class Sink:
    """Takes the place of the storage that normalised rows are written to, and counts them."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    def write_data_item(self, load_id: str, schema: str, table: str, row: Any, columns: Any) -> None:
        self.rows[table] = self.rows.get(table, 0) + 1


def shape(schema: Any) -> dict[str, Any]:
    """What there is to compare of a schema: tables, and columns in order, without descriptions."""
    return {
        name: {
            "parent": table.get("parent"),
            "columns": [
                [column, {key: said for key, said in facts.items() if key not in ("name", "description")}]
                for column, facts in table["columns"].items()
            ],
        }
        for name, table in schema.tables.items()
        if not name.startswith("_dlt")
    }


def rows(question: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """For each case, the schema after each of its batches; a case ends where dlt raises."""
    return [_rows_of_case(case) for case in question["cases"]]


def _rows_of_case(case: dict[str, Any]) -> list[dict[str, Any]]:
    schema = Schema.from_dict(case["document"])
    config = NormalizeConfiguration()
    config.destination_capabilities = DestinationCapabilitiesContext.generic_capabilities("parquet")
    found: list[dict[str, Any]] = []
    for number, batch in enumerate(case["batches"]):
        sink = Sink()
        normalizer = JsonLItemsNormalizer(sink, None, None, schema, f"load{number}", config)
        line = typed_json.typed_dumpb(value(batch))
        try:
            normalizer._normalize_chunk("t", typed_json.loadb(line), may_have_pua(line), skip_write=False)
        except Exception as error:
            found.append({"error": type(error).__name__})
            break
        found.append({"tables": shape(schema), "rows": sink.rows})
    return found


def contracts(question: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """For each case, the schema and the rows of each table after each batch, or what stopped it."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            _contract_case(f"case{number}", case, folder) for number, case in enumerate(question["cases"])
        ]


def _contract_case(name: str, case: dict[str, Any], folder: str) -> list[dict[str, Any]]:
    pipeline = dlt.pipeline(name, destination="dummy", pipelines_dir=folder, dataset_name="d")
    found: list[dict[str, Any]] = []
    for batch in case["batches"]:
        try:
            pipeline.extract(_source(case, batch), schema_contract=case["run"])
            info = pipeline.normalize()
        except PipelineStepFailed as error:
            found.append({"error": _broken(error)})
            break
        counts = info.row_counts
        schema = pipeline.schemas["oracle"]
        found.append({"tables": shape(schema), "rows": {n: c for n, c in counts.items() if n[:4] != "_dlt"}})
    return found


def _source(case: dict[str, Any], rows: list[Any]) -> Any:
    def source() -> Any:
        return dlt.resource(rows, name="t", schema_contract=case["table"])

    return dlt.source(name="oracle", schema_contract=case["schema"])(source)()


def _broken(error: BaseException | None) -> list[Any]:
    while error is not None and not isinstance(error, DataValidationError):
        error = getattr(error, "exception", None) or error.__cause__ or error.__context__
    if error is None:
        return ["unknown"]
    return [error.table_name, error.column_name, error.schema_entity, error.contract_mode]


def imports(question: dict[str, Any]) -> list[dict[str, Any]]:
    """Put texts into an import folder and tables into the stored schema; give the schema after each."""
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryDirectory() as folder:
        config = SchemaStorageConfiguration(schema_volume_path=store, import_schema_path=folder)
        storage = SchemaStorage(config, makedirs=True)
        found = []
        for what, given in question["steps"]:
            if what == "file":
                (Path(folder) / "shop.schema.yaml").write_text(given)
            schema = storage.load_schema("shop")
            if what == "table":
                schema.update_table(given)
                storage.save_schema(schema)
            found.append(schema.to_dict())
        return found


ANSWERS = {
    "schemas": schemas,
    "imports": imports,
    "contracts": contracts,
    "rows": rows,
    "names": names,
    "schema": schema,
}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    answer = ANSWERS[asked["ask"]](asked)
    sys.stdout.write(json.dumps(answer))
