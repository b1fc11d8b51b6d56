"""Answers of dlt to requests; a program for a Python that has dlt and no penstock.

One JSON document `{"ask": ..., ...}` comes on standard input, one goes to standard output.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import sys
import tempfile
from copy import deepcopy
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt
from dlt.common.configuration.container import Container
from dlt.common.destination import DestinationCapabilitiesContext
from dlt.common.json import json as typed_json
from dlt.common.json import may_have_pua
from dlt.common.normalizers.naming import direct, duck_case, snake_case, sql_ci_v1, sql_cs_v1
from dlt.common.schema import Schema
from dlt.common.schema.exceptions import DataValidationError
from dlt.common.storages import SchemaStorage, SchemaStorageConfiguration
from dlt.destinations import adapters as dlt_adapters
from dlt.normalize.configuration import NormalizeConfiguration
from dlt.normalize.items_normalizers.jsonl import JsonLItemsNormalizer
from dlt.pipeline.exceptions import PipelineStepFailed
from dlt.pipeline.state_sync import generate_pipeline_state_version_hash
from pyarrow import parquet

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Open a schema document, and return it as dlt writes it again."""

    # Each answer comes from a new schema: writing a document may count a version.
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
        return [value(item) for item in coded]
    if not isinstance(coded, dict):
        return coded
    if "$" not in coded:
        return {key: value(item) for key, item in coded.items()}
    readers: dict[str, Any] = {
        "decimal": Decimal,
        "timestamp": datetime.fromisoformat,
        "date": date.fromisoformat,
        "time": time.fromisoformat,
        "binary": bytes.fromhex,
    }
    return readers[coded["$"]](coded["v"])


class Sink:
    """A replacement of the storage of normalized rows that counts them."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.values: dict[str, list[Any]] = {}

    def write_data_item(self, load_id: str, schema: str, table: str, row: Any, columns: Any) -> None:
        self.rows[table] = self.rows.get(table, 0) + 1
        self.values.setdefault(table, []).append(coded(row))


def shape(schema: Any) -> dict[str, Any]:
    """Return the comparable parts of a schema: tables, and columns in order, without descriptions."""
    return {
        name: {
            "parent": table.get("parent"),
            "columns": [
                [
                    column,
                    {key: options for key, options in facts.items() if key not in ("name", "description")},
                ]
                for column, facts in table["columns"].items()
            ],
        }
        for name, table in schema.tables.items()
        if not name.startswith("_dlt")
    }


def rows(question: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return for each case the schema after each of its batches; a case ends where dlt raises."""
    return [_rows_of_case(case, with_values=question.get("values", False)) for case in question["cases"]]


def _rows_of_case(case: dict[str, Any], *, with_values: bool) -> list[dict[str, Any]]:
    schema = Schema.from_dict(case["document"])
    config = NormalizeConfiguration()
    config.destination_capabilities = DestinationCapabilitiesContext.generic_capabilities("parquet")
    result: list[dict[str, Any]] = []
    for number, batch in enumerate(case["batches"]):
        sink = Sink()
        normalizer = JsonLItemsNormalizer(sink, None, None, schema, f"load{number}", config)
        line = typed_json.typed_dumpb(value(batch))
        try:
            normalizer._normalize_chunk("t", typed_json.loadb(line), may_have_pua(line), skip_write=False)
        except Exception as error:
            result.append({"error": type(error).__name__})
            break
        values = {"values": sink.values} if with_values else {}
        result.append({"tables": shape(schema), "rows": sink.rows, **values})
    return result


def ids(question: dict[str, Any]) -> list[dict[str, list[Any]]]:
    """Return for each case the rows of all tables with the ids of dlt; nothing where it fails."""
    capabilities = DestinationCapabilitiesContext.generic_capabilities("parquet")
    capabilities.supported_merge_strategies = ["delete-insert", "upsert", "insert-only", "scd2"]
    result = []
    for case in question["cases"]:
        name, hints = (
            case["name"],
            {key: case[key] for key in ("write_disposition", "primary_key") if case[key]},
        )
        schema, sink, config = Schema(name), Sink(), NormalizeConfiguration()
        config.destination_capabilities = capabilities
        schema.update_table(dlt.resource([], name=name, **hints).compute_table_schema())
        line = typed_json.typed_dumpb(value(case["rows"]))
        try:
            with Container().injectable_context(capabilities):
                normalizer = JsonLItemsNormalizer(sink, None, None, schema, "load", config)
                normalizer._normalize_chunk(
                    name, typed_json.loadb(line), may_have_pua(line), skip_write=False
                )
        except Exception:  # after any error dlt has no values for this case
            sink.values.clear()
        result.append(sink.values)
    return result


def contracts(question: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return for each case the schema and rows of each table after each batch, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            _contract_case(f"case{number}", case, folder) for number, case in enumerate(question["cases"])
        ]


def _contract_case(name: str, case: dict[str, Any], folder: str) -> list[dict[str, Any]]:
    pipeline = dlt.pipeline(name, destination="dummy", pipelines_dir=folder, dataset_name="d")
    result: list[dict[str, Any]] = []
    for batch in case["batches"]:
        try:
            pipeline.extract(_source(case, batch), schema_contract=case["run"])
            info = pipeline.normalize()
        except PipelineStepFailed as error:
            result.append({"error": _broken(error)})
            break
        counts = info.row_counts
        schema = pipeline.schemas["oracle"]
        result.append({"tables": shape(schema), "rows": {n: c for n, c in counts.items() if n[:4] != "_dlt"}})
    return result


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
    """Write texts to an import folder and tables to the stored schema; return the schema after each."""
    with tempfile.TemporaryDirectory() as store, tempfile.TemporaryDirectory() as folder:
        config = SchemaStorageConfiguration(schema_volume_path=store, import_schema_path=folder)
        storage = SchemaStorage(config, makedirs=True)
        result = []
        for what, given in question["steps"]:
            if what == "file":
                (Path(folder) / "shop.schema.yaml").write_text(given)
            schema = storage.load_schema("shop")
            if what == "table":
                schema.update_table(given)
                storage.save_schema(schema)
            result.append(schema.to_dict())
        return result


class ExtractionRecorder:
    """A recorder of the extractions of a snippet and of their results."""

    def __init__(self, folder: str) -> None:
        self._pipeline = dlt.pipeline("oracle", pipelines_dir=folder)
        self.notes: list[dict[str, Any]] = []

    def __call__(self, data: Any, **hints: Any) -> None:
        try:
            info = self._pipeline.extract(data, **hints)
        except Exception as error:
            inner = getattr(error, "exception", None) or error
            self.notes.append({"error": type(inner).__name__})
            return
        rows: dict[str, list[Any]] = {}
        for load_id in info.loads_ids:
            jobs = Path(self._pipeline.working_dir) / "normalize" / "extracted" / load_id / "new_jobs"
            for job in sorted(jobs.iterdir()):
                table = job.name.split(".")[0]
                result = [] if table.startswith("_dlt") else _typed_rows(job)
                if result:
                    rows.setdefault(table, []).extend(result)
        state = coded(self._pipeline.state.get("sources", {}))
        tables = self._forget_tables()
        names = sorted({name.partition(".")[0] for name in tables})
        settings = {name: _settings(self._pipeline.schemas[name]) for name in names}
        self.notes.append(
            {"rows": rows, "settings": settings, "tables": tables, "state": _without_empty(state)}
        )

    def declaring(self, declare: Callable[[], Any]) -> None:
        """Record the error of a refused declaration."""
        try:
            declare()
        except Exception as error:
            self.notes.append({"error": type(error).__name__})

    def _forget_tables(self) -> dict[str, Any]:
        """Drop and return the declared tables, so that the next extraction declares its own."""
        result: dict[str, Any] = {}
        for schema in map(self._pipeline.schemas.__getitem__, self._pipeline.schema_names):
            own = [name for name in schema.tables if not name.startswith("_dlt")]
            result |= {f"{schema.name}.{name}": deepcopy(schema.tables[name]) for name in own}
            schema.drop_tables(own)
            self._pipeline.schemas.commit_live_schema(schema.name)
        return result


def _settings(schema: Any) -> dict[str, Any]:
    """Return the schema settings of a source."""
    json_config = schema.to_dict()["normalizers"]["json"].get("config", {})
    options = {key: json_config.get(key) for key in ("max_nesting", "root_key_propagation")}
    options["schema_contract"] = schema.settings.get("schema_contract")
    return {key: value for key, value in options.items() if value is not None}


def _without_empty(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state without empty entries, which reading creates."""
    for source in state.values():
        resources = source.get("resources", {})
        source["resources"] = {name: resource for name, resource in resources.items() if resource}
        if not source["resources"]:
            del source["resources"]
    return {name: item for name, item in state.items() if item}


def _typed_rows(job: Path) -> list[Any]:
    if job.suffix == ".parquet":
        return [coded(row) for row in parquet.read_table(job).to_pylist()]
    content = job.read_bytes()
    lines = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).splitlines()
    result: list[Any] = []
    for line in lines:
        parsed = typed_json.typed_loadb(line)
        result += parsed if isinstance(parsed, list) else [parsed]
    return [coded(row if isinstance(row, dict) else {"value": row}) for row in result]


def coded(plain: Any) -> Any:
    """Encode values that JSON has no type for, the inverse of `value`; timestamps are in UTC."""
    if isinstance(plain, dict):
        return {str(key): coded(item) for key, item in plain.items()}
    if isinstance(plain, (list, tuple)):
        return [coded(item) for item in plain]
    if isinstance(plain, datetime):
        aware = plain if plain.tzinfo else plain.replace(tzinfo=UTC)
        return {"$": "timestamp", "v": aware.astimezone(UTC).isoformat()}
    for kind, name in ((date, "date"), (time, "time")):
        if isinstance(plain, kind):
            return {"$": name, "v": plain.isoformat()}
    if isinstance(plain, Decimal):
        return {"$": "decimal", "v": str(plain)}
    return {"$": "binary", "v": plain.hex()} if isinstance(plain, bytes) else plain


def snippets(question: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Run small programs, each with a separate pipeline."""
    result: dict[str, list[dict[str, Any]]] = {}
    for path in map(Path, question["paths"]):
        before = dict(os.environ)
        with tempfile.TemporaryDirectory() as folder:
            spec: Any = importlib.util.spec_from_file_location(path.stem, path)
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            recorder = ExtractionRecorder(folder)
            module.run(recorder)
            result[path.stem] = recorder.notes
        os.environ.clear()
        os.environ.update(before)
    return result


def states(question: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the hash and the text of states, and the states that dlt reads from other texts."""
    result = []
    for state in map(value, question["states"]):
        text = typed_json.typed_dumps({**state})
        read = typed_json.typed_loads(text)
        result.append(
            {
                "hash": generate_pipeline_state_version_hash({**state}),
                "json": text,
                "read": coded(read),
            }
        )
    return result


def adapters(question: dict[str, Any]) -> dict[str, Any]:
    """Return the hints that the adapters of each case set on a resource; None where they refuse."""

    def argument(given: Any) -> Any:
        if isinstance(given, list):
            return [argument(item) for item in given]
        if isinstance(given, dict) and "$partition" in given:
            kind, method, *rest = given["$partition"]
            return getattr(getattr(dlt_adapters, kind), method)(*rest)
        return given

    def hints(calls: list[Any]) -> dict[str, Any] | None:
        resource = dlt.resource([{"id": 1}], name="rows", **deepcopy(question["resource"]))
        try:
            for name, given in calls:
                arguments = {key: argument(item) for key, item in given.items()}
                resource = getattr(dlt_adapters, name)(resource, **arguments)
        except (AssertionError, TypeError, ValueError):
            return None
        table: dict[str, Any] = coded(resource.compute_table_schema())
        return table

    return {name: hints(calls) for name, calls in question["cases"].items()}


ANSWERS = {
    "adapters": adapters,
    "states": states,
    "snippets": snippets,
    "schemas": schemas,
    "imports": imports,
    "contracts": contracts,
    "ids": ids,
    "rows": rows,
    "names": names,
    "schema": schema,
}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    answer = ANSWERS[asked["ask"]](asked)
    sys.stdout.write(json.dumps(answer))
