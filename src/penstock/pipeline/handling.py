"""What can be done with a pipeline beside running it: read, query, tidy up."""

from __future__ import annotations

from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any, cast

from penstock.config import in_scope
from penstock.interfaces import Destination
from penstock.interfaces.run_context import override_context
from penstock.pipeline import late_imports
from penstock.pipeline.active import activate, active_pipeline, deactivate
from penstock.pipeline.asking import Asking
from penstock.pipeline.home import dataset_name_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from penstock.dataset.dataset import Dataset
    from penstock.dataset.sqlclient import SqlClient
    from penstock.interfaces import JobClientBase
    from penstock.pipeline.state import TPipelineState
    from penstock.pipeline.types import TDestinationReferenceArg
    from penstock.schema import TSchemaTables


class Handling(Asking):
    """The part of `Pipeline` that works on what is there already."""

    _dev_since: datetime | None

    def drop_pending_packages(self, with_partial_loads: bool = True) -> None:  # noqa: FBT001, FBT002 - the page's
        """Delete the packages that wait: extracted, normalized, and those that are loaded in part.

        Tables that have rows of such a load already go back to what they were, by one commit each. Nothing is
        dropped if somebody has written to one of them since: the error says to which. With
        `with_partial_loads=False` a load that was begun stays, and the next `run` goes on with it.

        State and schema are those of the last complete load, so the next `run` asks the source again for what
        was dropped.
        """
        with self._run_context():
            late_imports.drop_pending(
                self._target() if self.destination is not None else None,
                self._context(),
                storage=self._package_storage(),
                spark=self._spark,
                with_partial_loads=with_partial_loads,
            )

    def sync_destination(
        self,
        destination: TDestinationReferenceArg = None,
        staging: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
    ) -> None:
        """Bring what this machine keeps of state and schemas up to what the destination knows.

        A state at the destination that is not older replaces the one that is kept here, and the schemas with
        it. Where the dataset is not there any more, what is kept here goes. Packages that wait stay, whatever
        is found. `run` does this by itself, unless the setting `restore_from_destination` is false.
        """
        self._bind(destination, dataset_name, staging)
        with self._run_context():
            late_imports.sync_destination(self._target(), spark=self._spark)

    def sync_schema(self, schema_name: str | None = None) -> TSchemaTables:
        """Bring the tables at the destination up to a schema, the default one if none is named.

        Properties, clusters and types of tables that are there become what the schema says. Tables and
        columns that are not there come with their first rows. Gives the tables and columns that the schema
        has more than after the last load.
        """
        with self._run_context():
            return late_imports.sync_schema(self._target(), spark=self._spark, schema_name=schema_name)

    def destination_client(self, schema_name: str | None = None) -> JobClientBase:
        """The client of the destination, to do by hand what a load does; use it in a `with` block.

        It knows the tables of the named schema, or of the default one. What is done with it is in no load:
        `with pipeline.destination_client() as client: client.drop_storage()` deletes the dataset,
        with the packages that wait in its folder.
        """
        with self._run_context():
            return late_imports.open_client(self._target(), spark=self._spark, schema_name=schema_name)

    @contextmanager
    def managed_state(self, *, extract_state: bool = False) -> Iterator[TPipelineState]:
        """Change the state by hand: what is below `sources`, and values of this machine below `_local`.

        After the block the changes are kept; when it raises, none is. They stay on this machine until the
        next package takes them along. With `extract_state` they are packages at once, which any machine can
        load. In the block `penstock.current.source_state()` is part of this state.
        """
        before = self._state_view().state
        state = deepcopy(before)
        with self._run_context(), override_context(state=state, source_name=before["default_schema_name"]):
            yield cast("TPipelineState", state)
        late_imports.save_state_change(
            self._target() if self.destination is not None else None,
            self._context(),
            (before, state),
            storage=self._package_storage(),
            spark=self._spark,
            as_packages=extract_state,
        )

    def activate(self) -> None:
        """Make this the active pipeline: `penstock.pipeline()` gives it, and settings are looked up for it.

        Only one is active at a time, the one that was made, attached or run last. Where settings have a
        section with its name, that counts before all others.
        """
        activate(self)

    def deactivate(self) -> None:
        """Leave no pipeline active; an error where this one is not."""
        deactivate(self)

    @property
    def is_active(self) -> bool:
        """Whether this is the active pipeline."""
        return active_pipeline() is self

    def dataset(self, *, consistent: bool = True) -> Dataset:
        """Read what was loaded: `pipeline.dataset()["items"].df()`.

        A dataset shows complete loads only, all tables at one moment; `consistent=False` shows the tables as
        they are, with what a load has written that is not complete.
        """
        return late_imports.open_dataset(self._target(), spark=self._spark, consistent=consistent)

    def sql_client(self, schema_name: str | None = None) -> SqlClient:
        """Query and change the tables with Spark SQL, by their bare names; use it in a `with` block.

        Values for `%s` are bound by the engine. `schema_name` says whose dataset is meant where schemas have
        datasets of their own.
        """
        return late_imports.open_sql_client(self._target(), spark=self._spark, schema_name=schema_name)

    @contextmanager
    def _run_context(self) -> Iterator[None]:
        """User code and the configuration know which pipeline runs."""
        with override_context(pipeline=self), in_scope(pipeline_name=self.pipeline_name):
            yield

    def _bind(
        self,
        destination: TDestinationReferenceArg = None,
        dataset_name: str | None = None,
        staging: TDestinationReferenceArg = None,
        credentials: Any = None,
    ) -> None:
        """Take over what a call says of where to load, for this call and later ones."""
        if dataset_name is not None:
            self.dataset_name = dataset_name_of(
                dataset_name, layout=self.config.dataset_name_layout, dev_since=self._dev_since
            )
        if destination is not None:
            self.destination = Destination.from_reference(destination)
        if staging is not None:
            self.staging = Destination.from_reference(staging)
        if credentials is not None:
            self.destination = self._require_destination().with_arguments(credentials=credentials)
