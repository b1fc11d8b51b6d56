"""Carries packages forward: an extracted one is normalized, a normalized one is sealed and loaded."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.errors import SlotTaken, in_stage
from penstock.interfaces import StateInfo
from penstock.load.run import finish, load
from penstock.load.takeback import take_back
from penstock.normalize.left import leave, left_of, version_of
from penstock.normalize.run import normalize
from penstock.normalize.settings import NormalizeConfiguration
from penstock.package import Manifest
from penstock.package.extracted import Extracted
from penstock.pipeline.refreshing import (
    dropped_tables,
    emptied_tables,
    truncated_tables,
    without_dropped,
    without_history,
)
from penstock.pipeline.restore import schema_after, with_source_schema
from penstock.pipeline.state import ENGINE_VERSION, encode_state, with_sources, with_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.load.settings import LoaderConfiguration
    from penstock.normalize.left import Normalized
    from penstock.package import Package
    from penstock.package.lease import Lease
    from penstock.pipeline.recording import Recorder
    from penstock.pipeline.restore import Known
    from penstock.pipeline.site import Site
    from penstock.schema import Schema


class Forward:
    """What a run does with its packages, for as long as it holds the lease."""

    def __init__(
        self,
        site: Site,
        lease: Lease,
        rules: LoaderConfiguration,
        recorder: Recorder,
        *,
        file_format: str | None = None,
    ) -> None:
        """`file_format` is that of tables which say none."""
        self._site, self._lease, self._rules, self._recorder = site, lease, rules, recorder
        self._defaults = {"file_format": file_format} if file_format else {}

    def settle_sealed(self) -> bool:
        """Take back what was given up, and finish the sealed load that an earlier run left.

        False where no load was ever sealed here.
        """
        packages = self._site.packages
        aborted = packages.to_take_back()
        if aborted is not None:
            manifest, outcome = aborted
            with self._in_load(manifest.load_id):
                take_back(manifest, outcome, self._site.into(manifest, self._lease))
        sealed = packages.to_roll_forward()
        if sealed is None:
            return bool(packages.slots.last())
        self._recorder.pending.add(sealed.load_id)
        with self._in_load(sealed.load_id):
            is_committed = self._site.is_committed(sealed)
            if is_committed:
                finish(sealed, self._site.into(sealed, self._lease), state=_state_row(sealed))
        if not is_committed:
            self._load(sealed)
        return True

    def normalize(self, package: Package) -> None:
        """Normalize a package and leave it to be loaded; packages before it may wait for that too."""
        with self._recorder.within("normalize"), in_stage("normalize", load_id=package.load_id):
            extracted = Extracted.from_dict(package.extracted())
            last = self._site.known(extracted.schema_name).schema
            known = schema_after(last, self._site.packages, before=package.load_id)
        self._normalize(package, extracted, known)

    def load(self, package: Package) -> None:
        """Seal a package and load it. What it was normalized to is used where that still fits."""
        with self._in_load(package.load_id):
            extracted = Extracted.from_dict(package.extracted())
            if self._is_loaded(package, extracted):
                return
            known = self._site.known(extracted.schema_name)
            before = version_of(known.schema)
            left = left_of(package, destination_type=self._site.target.destination_type, schema_before=before)
        made = left or self._normalize(package, extracted, known.schema)
        with self._in_load(package.load_id):
            manifest = self._sealed(package, extracted, known, made)
        self._load(manifest)

    def _is_loaded(self, package: Package, extracted: Extracted) -> bool:
        """Finish a package that is complete at the destination: a copy of it was loaded before."""
        ledger = self._site.ledger
        if ledger.find_commit(schema_name=extracted.schema_name, load_id=package.load_id) is None:
            return False
        self._lease.check()
        self._site.packages.finish(package.load_id, retention=self._site.habits.retention)
        self._recorder.notes.append(f"package {package.load_id} was loaded before and is not loaded again")
        return True

    @contextmanager
    def _in_load(self, load_id: str) -> Iterator[None]:
        """What breaks in the block has broken the load of a package."""
        with self._recorder.within("load"), in_stage("load", load_id=load_id):
            yield

    def _sealed(self, package: Package, extracted: Extracted, known: Known, left: Normalized) -> Manifest:
        """Decide what the next load is."""
        dropped = dropped_tables(known.schema, extracted)
        schema = self._site.target.files.offered(left.schema)
        manifest = Manifest(
            load_id=package.load_id,
            sequence=self._site.next_sequence(),
            pipeline_name=self._site.target.pipeline_name,
            dataset_name=self._site.target.dataset_name,
            schema_name=known.schema.name,
            tables=left.tables,
            folders=left.folders,
            schema_before=version_of(known.schema),
            schema=dict((without_history(schema) if dropped else schema).to_dict()),
            state=with_version(with_sources(known.state, extracted)),
            dropped=dropped,
            truncated=truncated_tables(known.schema, extracted),
        )
        self._lease.confirm()
        if not self._site.packages.seal(manifest):
            raise SlotTaken(pipeline=manifest.pipeline_name, sequence=manifest.sequence)
        return manifest

    def _normalize(self, package: Package, extracted: Extracted, known: Schema) -> Normalized:
        able = self._site.target.destination.capabilities
        table_format = able.preferred_table_format
        schema = with_source_schema(without_dropped(known, extracted.refresh), extracted)
        naming = self._site.naming(schema)
        with (
            self._recorder.step("normalize"),
            in_stage("normalize", load_id=package.load_id),
            self._site.target.collector(f"normalize of {schema.name}") as collector,
            self._site.session() as spark,
        ):
            made = normalize(
                package,
                schema,
                spark=spark,
                naming=naming,
                table_extras={"table_format": table_format} if table_format else {},
                table_defaults=self._defaults,
                settings=self._site.settings(NormalizeConfiguration, "normalize"),
                merge_strategy=next(iter(able.supported_merge_strategies), None),
                can_alter=self._site.target.config.alterable_types,
                collector=collector,
                emptied=emptied_tables(known, extracted, naming),
            )
            before = version_of(known)
            self._lease.check()
            leave(package, made, destination_type=self._site.target.destination_type, schema_before=before)
            self._site.target.files.export(made.schema)
        if made.report is not None:
            self._recorder.hear_normalized(made.report)
        return made

    def _load(self, manifest: Manifest) -> None:
        into = self._site.into(manifest, self._lease)
        with (
            self._recorder.step("load"),
            in_stage("load", load_id=manifest.load_id),
            into.collector(f"load of {manifest.schema_name}"),
        ):
            report = load(manifest, into, state=_state_row(manifest), rules=self._rules)
        self._recorder.hear_loaded(report)
        if manifest.gone:
            self._recorder.notes.append(f"tables that are no more: {', '.join(manifest.gone)}")


def _state_row(manifest: Manifest) -> StateInfo:
    state: dict[str, Any] = dict(manifest.state)
    return StateInfo(
        version=state["_state_version"],
        engine_version=ENGINE_VERSION,
        pipeline_name=manifest.pipeline_name,
        state=encode_state(state),
        created_at=datetime.fromtimestamp(float(manifest.load_id), UTC),
        version_hash=state["_version_hash"],
        dlt_load_id=manifest.load_id,
    )
