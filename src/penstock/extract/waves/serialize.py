"""Makes the function of a resource and its steps ready to travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.extract import http_errors, json_fallback, quarantine_writer, steps
from penstock.extract.waves import executor_task
from penstock.interfaces import items, pace
from penstock.package import quarantine, tags
from penstock.redaction import secrets_in
from penstock.spark.serialization import loads, serialize_by_value, without_defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.extract.waves.plan import WavePlan
    from penstock.interfaces.source import Stream
    from penstock.interfaces.work_items import ItemFunction

_EXECUTOR_MODULES: Final = (
    executor_task,
    pace,
    json_fallback,
    http_errors,
    quarantine_writer,
    steps,
    items,
    tags,
    quarantine,
)
"""The modules of ours that run on executors. None of them may need what executors do not have."""
_ONLY_TABLE_NAME: Final = ("table_name",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SerializedResource:
    """A resource as it travels: its function with its arguments and steps, and the secrets that are in it."""

    resource: str
    table: str | None
    code: bytes
    secrets: tuple[str, ...]
    keeps_bad_rows: bool
    has_dynamic_tables: bool
    paces_itself: bool = False

    def task(self, values: Sequence[Any], plan: WavePlan) -> bytes:
        """A wave, ready to be carried: the items of each of its parts come along."""
        parts = [[(place, values[place]) for place in share] for share in plan.shares(len(values))]
        return serialize_by_value(
            executor_task.ExecutorTask(
                resource=self.resource,
                table=self.table,
                code=self.code,
                deserialize=loads,
                parts=parts,
                interval=plan.interval,
                seconds=plan.part_seconds,
                secrets=self.secrets,
                keeps_bad_rows=self.keeps_bad_rows,
                paces_itself=self.paces_itself,
            ),
            *_EXECUTOR_MODULES,
        )


def serialize_resource(stream: Stream, bound: ItemFunction, *, keeps_bad_rows: bool) -> SerializedResource:
    """Pack a resource; refused where it has something that executors cannot do, or that cannot travel."""
    stages = _build_stages(stream)
    call = executor_task.bind_arguments(without_defaults(bound.function), bound.args, dict(bound.kwargs))
    try:
        more = stream.work.modules if stream.work else ()
        code = serialize_by_value((call, stages, _table_name_function(stream)), *_EXECUTOR_MODULES, *more)
    except Exception as error:  # whatever a user's object does when it is packed
        raise UsageError(
            f"{stream.name} cannot travel to the executors: {type(error).__name__}: {error}",
            hint="make locks, connections and clients in the function, or set extract.work_items = 'driver'",
            resource=stream.name,
        ) from error
    name = stream.hints.table_name
    return SerializedResource(
        resource=stream.name,
        table=name if isinstance(name, str) else stream.name,
        code=code,
        secrets=tuple(secrets_in(code)),
        keeps_bad_rows=keeps_bad_rows,
        has_dynamic_tables=callable(name),
        paces_itself=stream.work is not None and stream.work.paces_itself,
    )


def _build_stages(stream: Stream) -> tuple[steps.Stage, ...]:
    if any(step.kind == "metrics" for step in stream.steps):
        raise UsageError(
            f"{stream.name} counts with add_metrics, and executors cannot fill a dict of the driver",
            hint="leave add_metrics out, or set extract.work_items = 'driver'",
        )
    if any(step.kind == "incremental" and step.function() is not None for step in stream.steps):
        raise UsageError(
            f"{stream.name} has a cursor, and executors cannot tell each other how far they are",
            hint="cut the range with penstock.sources.windows, or set extract.work_items = 'driver'",
        )
    return tuple(steps.build_stage(step, {}) for step in stream.steps)


def _table_name_function(stream: Stream) -> Callable[[Any], str] | None:
    dynamic = stream.hints.dynamic_names
    if not dynamic:
        return None
    name = stream.hints.table_name
    if dynamic != _ONLY_TABLE_NAME or not callable(name):
        raise UsageError(
            f"{', '.join(dynamic)} of {stream.name} depend on its rows, and these are on the executors",
            hint="let only table_name be a function, or set extract.work_items = 'driver'",
        )
    return name
