"""Serializes the function and the steps of a resource for executors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.extract import http_errors, json_fallback, quarantine_writer, steps
from penstock.extract.waves import executor_task
from penstock.interfaces import items, pace
from penstock.interfaces.work_items import task_context
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
"""The modules of penstock that run on executors, with imports that executors have."""
_ONLY_TABLE_NAME: Final = ("table_name",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SerializedResource:
    """A resource as bytes: its function with arguments and steps, and the secrets in them."""

    resource: str
    table: str | None
    code: bytes
    secrets: tuple[str, ...]
    keeps_bad_rows: bool
    has_dynamic_tables: bool
    paces_itself: bool = False

    def task(self, values: Sequence[Any], plan: WavePlan) -> bytes:
        """Serialize a wave with the items of each part."""
        parts = [[(index, values[index]) for index in share] for share in plan.shares(len(values))]
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
    """Serialize a resource; raise an error if executors cannot run it, or if it cannot be pickled."""
    stages = _build_stages(stream)
    call = executor_task.bind_arguments(without_defaults(bound.function), bound.args, dict(bound.kwargs))
    try:
        more = stream.work.modules if stream.work else ()
        context = task_context()
        enter, context_modules = (context.enter, context.modules) if context else (None, ())
        task = (call, stages, _table_name_function(stream), json_fallback.custom_encoder(), enter)
        code = serialize_by_value(task, *_EXECUTOR_MODULES, *more, *context_modules)
    except Exception as error:  # a user's object may raise anything when it is pickled
        raise UsageError(
            f"{stream.name} cannot be serialized for executors: {type(error).__name__}: {error}",
            hint="create connections and clients in the function, or set extract.work_items = 'driver'",
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
            f"{stream.name} uses add_metrics, which is not supported on executors",
            hint="remove add_metrics, or set extract.work_items = 'driver'",
        )
    if any(step.kind == "incremental" and step.function() is not None for step in stream.steps):
        raise UsageError(
            f"{stream.name} has a cursor, which is not supported on executors",
            hint="divide the range with penstock.sources.windows, or set extract.work_items = 'driver'",
        )
    return tuple(steps.build_stage(step, {}) for step in stream.steps)


def _table_name_function(stream: Stream) -> Callable[[Any], str] | None:
    dynamic = stream.hints.dynamic_names
    if not dynamic:
        return None
    name = stream.hints.table_name
    if dynamic != _ONLY_TABLE_NAME or not callable(name):
        raise UsageError(
            f"{', '.join(dynamic)} of {stream.name} depend on its rows, which is not supported on executors",
            hint="use a function only for table_name, or set extract.work_items = 'driver'",
        )
    return name
