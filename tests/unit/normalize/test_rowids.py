from __future__ import annotations

from typing import Any

from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.hints import make_hints
from penstock.normalize.frames import typed_files
from penstock.normalize.plan import plan_tables
from penstock.normalize.rowids import RowHashSpec, row_hash_spec, typed_hash_input
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


def decided(
    rows: list[Any] | None = None, evidence: Any = None, merge_strategy: str | None = None, **hints: Any
) -> Decision:
    tables = declared_tables(make_hints(**hints), resource="t", naming=NAMING)
    stored = Schema("shop").stored.with_tables(tables)
    terms = InferenceOptions(merge_strategy=merge_strategy)
    return decide(stored, "t", gather(rows or []) if evidence is None else evidence, terms)


def test_only_rows_that_are_merged_have_ids_of_what_they_hold() -> None:
    rows = [{"id": 1}]

    assert row_hash_spec(decided(rows, primary_key="id"), NAMING) is None
    assert row_hash_spec(decided(rows, primary_key="id", write_disposition="merge"), NAMING) is None
    assert row_hash_spec(decided(rows, write_disposition=UPSERT), NAMING) is None, "there is no key"
    history = {"disposition": "merge", "strategy": "scd2"}
    assert row_hash_spec(decided(rows, write_disposition=history), NAMING) == RowHashSpec()
    own = {**history, "row_version_column_name": "version"}
    assert row_hash_spec(decided(rows, write_disposition=own), NAMING) is None, "the user brings a version"


def test_where_a_table_does_not_say_how_it_is_merged_the_destination_does() -> None:
    rows = [{"id": 1}]

    def found(strategy: str, said: Any = "merge") -> RowHashSpec | None:
        decision = decided(rows, merge_strategy=strategy, primary_key="id", write_disposition=said)
        return row_hash_spec(decision, NAMING)

    assert found("upsert") == RowHashSpec(keys={"id": (("id",),)})
    assert found("delete-insert") is None
    assert found("upsert", {"disposition": "merge", "strategy": "delete-insert"}) is None
    assert found("upsert", "append") is None


def test_parts_of_a_key_are_found_by_their_keys_in_the_data() -> None:
    rows = [{"Part No": "x", "deep": {"Key": 1}, "other": 2}]

    found = row_hash_spec(
        decided(rows, primary_key=["part_no", "deep__key", "missing"], write_disposition=UPSERT), NAMING
    )

    assert found == RowHashSpec(
        keys={"part_no": (("Part No",),), "deep__key": (("deep", "Key"),), "missing": (("missing",),)}
    )


def test_a_value_that_goes_to_a_variant_is_still_part_of_the_key() -> None:
    columns = {"id": {"data_type": "bigint"}}

    found = row_hash_spec(
        decided([{"ID": "x"}], primary_key="id", columns=columns, write_disposition=UPSERT), NAMING
    )

    assert found == RowHashSpec(keys={"id": (("ID",),)})


def test_typed_rows_are_hashed_by_the_json_that_rows_of_python_have() -> None:
    files = typed_files(COLUMNS, rows=1)
    decision = decided(evidence=files.evidence, primary_key=["id", "at"], write_disposition=UPSERT)

    found = typed_hash_input(decision, files.layout, NAMING)

    assert found is not None
    assert found.startswith("to_json(named_struct('id', `row`.`id`, 'at', concat('\uf027', ")


def test_tables_below_such_rows_leave_their_ids_to_be_worked_out() -> None:
    rows = [{"id": 1, "l": [{"m": [1]}]}]
    decision = decided(rows, primary_key="id", write_disposition=UPSERT)
    files = typed_files({"type": "struct", "fields": []}, rows=1)

    (root,) = plan_tables(decision, files.layout)

    assert root.projection.is_hashed
    assert root.projection.unhashed_id_columns == ()
