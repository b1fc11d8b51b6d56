from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import AnalysisException

from penstock.destinations.delta.run import DeltaTables
from penstock.interfaces import AppliedJob, LoadMark
from penstock.schema import Table
from penstock.spark.presets import OWN_CONF

if TYPE_CHECKING:
    from penstock.destinations.delta.addressing import DeltaAddressing

REFUSED = "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG"


class Conf(dict[str, str]):
    """The settings of a session."""

    def set(self, key: str, value: str) -> None:
        self[key] = value

    def unset(self, key: str) -> None:
        self.pop(key, None)


class SlowPlace:
    """Refuses each table at first, as Delta does by a rule; then reads it until somebody lets it end."""

    def __init__(self) -> None:
        # All made at once: threads that ask for one at the same time must not get two.
        self.is_refused, self.is_read, self.may_end = (
            {table: threading.Event() for table in ("first", "second")} for _ in range(3)
        )

    def read(self, table: str, version: int | None, *, spark: Any) -> None:
        del version, spark
        if not self.is_refused[table].is_set():
            self.is_refused[table].set()
            raise AnalysisException("a rule", errorClass=REFUSED, messageParameters={})
        self.is_read[table].set()
        assert self.may_end[table].wait(60)


def test_tables_that_are_read_side_by_side_leave_the_session_as_it_was() -> None:
    place, spark = SlowPlace(), cast("Any", SimpleNamespace(conf=Conf()))
    tables = DeltaTables(addressing=cast("DeltaAddressing", place))

    def reading(table: str) -> threading.Thread:
        thread = threading.Thread(target=tables.read, args=(table,), kwargs={"spark": spark})
        thread.start()
        assert place.is_refused[table].wait(60)
        return thread

    first = reading("first")
    assert place.is_read["first"].wait(60)
    second = reading("second")
    time.sleep(0.2)  # it could see now what the first one has set
    place.may_end["first"].set()
    first.join(60)
    place.may_end["second"].set()
    second.join(60)

    assert place.is_read["second"].is_set()
    assert spark.conf == {}


class WrittenPlace:
    """Has every table, and notes how it is written."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}

    def exists(self, table: str, *, spark: Any) -> bool:
        del table, spark
        return True

    def write(self, table: str, rows: Any, mode: str, options: dict[str, str], partitions: Any) -> None:
        del table, rows, mode, partitions
        self.options = dict(options)


class Applied(DeltaTables):
    """Does not look for the commit."""

    def _applied_job(self, table: str, mark: LoadMark, spark: Any) -> AppliedJob:
        del mark, spark
        return AppliedJob(table=table)


def test_a_replace_takes_all_partitions_whatever_the_session_says() -> None:
    place, spark = WrittenPlace(), cast("Any", SimpleNamespace(conf=Conf()))
    tables = Applied(addressing=cast("DeltaAddressing", place))
    mark = LoadMark(pipeline_name="shop", load_id="1.0", sequence=1, manifest_hash="ab")

    tables.overwrite(Table(name="orders"), cast("Any", None), mark, spark=spark)
    replaced = place.options
    tables.append(Table(name="orders"), cast("Any", None), mark, spark=spark)

    assert replaced["partitionOverwriteMode"] == "static"
    assert OWN_CONF["spark.sql.sources.partitionOverwriteMode"] == "static"
    assert "partitionOverwriteMode" not in place.options
