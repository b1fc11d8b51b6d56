from __future__ import annotations

from typing import Any

from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.hints import make_hints
from penstock.normalize.frames import typed_files
from penstock.normalize.plan import plan_tables
from penstock.normalize.row_hashes import RowHashSpec, row_hash_spec, typed_hash_input
from penstock.schema import Decision, Schema, decide, gather, naming_convention
from penstock.schema.inference_options import InferenceOptions

NAMING = naming_convention()
UPSERT = {"disposition": "merge", "strategy": "upsert"}
COLUMNS = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "at", "type": "timestamp", "nullable": True, "metadata": {}},
    ],
}


def decide_rows(
    rows: list[Any] | None = None, evidence: Any = None, merge_strategy: str | None = None, **hints: Any
) -> Decision:
    tables = declared_tables(make_hints(**hints), resource="t", naming=NAMING)
    stored = Schema("shop").stored.with_tables(tables)
    options = InferenceOptions(merge_strategy=merge_strategy)
    return decide(stored, "t", gather(rows or []) if evidence is None else evidence, options)


def test_only_upserts_and_history_hash_row_ids() -> None:
    rows = [{"id": 1}]

    assert row_hash_spec(decide_rows(rows, primary_key="id"), NAMING) is None
    assert row_hash_spec(decide_rows(rows, primary_key="id", write_disposition="merge"), NAMING) is None
    assert row_hash_spec(decide_rows(rows, write_disposition=UPSERT), NAMING) is None, "there is no key"
    history = {"disposition": "merge", "strategy": "scd2"}
    assert row_hash_spec(decide_rows(rows, write_disposition=history), NAMING) == RowHashSpec()
    own = {**history, "row_version_column_name": "version"}
    assert row_hash_spec(decide_rows(rows, write_disposition=own), NAMING) is None, (
        "the user brings a version"
    )


def test_the_merge_strategy_of_the_destination_is_the_default() -> None:
    rows = [{"id": 1}]

    def hash_spec(strategy: str, disposition: Any = "merge") -> RowHashSpec | None:
        decision = decide_rows(rows, merge_strategy=strategy, primary_key="id", write_disposition=disposition)
        return row_hash_spec(decision, NAMING)

    assert hash_spec("upsert") == RowHashSpec(keys={"id": (("id",),)})
    assert hash_spec("delete-insert") is None
    assert hash_spec("upsert", {"disposition": "merge", "strategy": "delete-insert"}) is None
    assert hash_spec("upsert", "append") is None


def test_key_columns_map_to_their_paths_in_the_data() -> None:
    rows = [{"Part No": "x", "deep": {"Key": 1}, "other": 2}]

    spec = row_hash_spec(
        decide_rows(rows, primary_key=["part_no", "deep__key", "missing"], write_disposition=UPSERT), NAMING
    )

    assert spec == RowHashSpec(
        keys={"part_no": (("Part No",),), "deep__key": (("deep", "Key"),), "missing": (("missing",),)}
    )


def test_a_value_in_a_variant_column_is_part_of_the_key() -> None:
    columns = {"id": {"data_type": "bigint"}}

    spec = row_hash_spec(
        decide_rows([{"ID": "x"}], primary_key="id", columns=columns, write_disposition=UPSERT), NAMING
    )

    assert spec == RowHashSpec(keys={"id": (("ID",),)})


def test_typed_rows_are_hashed_by_the_json_of_equal_python_rows() -> None:
    files = typed_files(COLUMNS, rows=1)
    decision = decide_rows(evidence=files.evidence, primary_key=["id", "at"], write_disposition=UPSERT)

    hash_input = typed_hash_input(decision, files.layout, NAMING)

    assert hash_input is not None
    assert hash_input.startswith("to_json(named_struct('id', `row`.`id`, 'at', concat('\uf027', ")


def test_nested_tables_of_hashed_rows_hash_their_ids_too() -> None:
    rows = [{"id": 1, "l": [{"m": [1]}]}]
    decision = decide_rows(rows, primary_key="id", write_disposition=UPSERT)
    files = typed_files({"type": "struct", "fields": []}, rows=1)

    (root,) = plan_tables(decision, files.layout)

    assert root.projection.is_hashed
    assert root.projection.unhashed_id_columns == ()
