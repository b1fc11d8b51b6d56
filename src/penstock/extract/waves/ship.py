"""Makes the function of a resource and its steps ready to travel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.extract import answers, aside, plain, steps
from penstock.extract.waves import there
from penstock.interfaces import items, pace
from penstock.package import quarantine, tags
from penstock.redaction import secrets_in
from penstock.spark.shipping import bare, loads, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.extract.waves.plan import WavePlan
    from penstock.interfaces.source import Stream
    from penstock.interfaces.work import Bound

_OURS: Final = (there, pace, plain, answers, aside, steps, items, tags, quarantine)
"""The modules of ours that run on executors. None of them may need what executors do not have."""
_NAMES_ITSELF: Final = ("table_name",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cargo:
    """A resource as it travels: its function with its arguments and steps, and the secrets that are in it."""

    resource: str
    table: str | None
    code: bytes
    hidden: tuple[str, ...]
    keeps_bad_rows: bool
    names_tables: bool
    paces_itself: bool = False

    def task(self, values: Sequence[Any], plan: WavePlan) -> bytes:
        """A wave, ready to be carried: the items of each of its parts come along."""
        parts = [[(place, values[place]) for place in share] for share in plan.shares(len(values))]
        return packed(
            there.Job(
                resource=self.resource,
                table=self.table,
                code=self.code,
                load=loads,
                parts=parts,
                interval=plan.interval,
                seconds=plan.part_seconds,
                hidden=self.hidden,
                keeps_bad_rows=self.keeps_bad_rows,
                paces_itself=self.paces_itself,
            ),
            *_OURS,
        )


def cargo_of(stream: Stream, bound: Bound, *, keeps_bad_rows: bool) -> Cargo:
    """Pack a resource; refused where it has something that executors cannot do, or that cannot travel."""
    stages = _stages(stream)
    call = there.caller(bare(bound.function), bound.args, dict(bound.kwargs))
    try:
        more = stream.work.modules if stream.work else ()
        code = packed((call, stages, _name_of(stream)), *_OURS, *more)
    except Exception as error:  # whatever a user's object does when it is packed
        raise UsageError(
            f"{stream.name} cannot travel to the executors: {type(error).__name__}: {error}",
            hint="make locks, connections and clients in the function, or set extract.work_items = 'driver'",
            resource=stream.name,
        ) from error
    name = stream.hints.table_name
    return Cargo(
        resource=stream.name,
        table=name if isinstance(name, str) else stream.name,
        code=code,
        hidden=tuple(secrets_in(code)),
        keeps_bad_rows=keeps_bad_rows,
        names_tables=callable(name),
        paces_itself=stream.work is not None and stream.work.paces_itself,
    )


def _stages(stream: Stream) -> tuple[steps.Stage, ...]:
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
    return tuple(steps.stage_of(step, {}) for step in stream.steps)


def _name_of(stream: Stream) -> Callable[[Any], str] | None:
    dynamic = stream.hints.dynamic
    if not dynamic:
        return None
    name = stream.hints.table_name
    if dynamic != _NAMES_ITSELF or not callable(name):
        raise UsageError(
            f"{', '.join(dynamic)} of {stream.name} depend on its rows, and these are on the executors",
            hint="let only table_name be a function, or set extract.work_items = 'driver'",
        )
    return name
