"""State that a user has changed by hand: kept on this machine for the next package, or left in packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from penstock.config import logger
from penstock.errors import UsageError
from penstock.extract.source_state import typed_copy
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.typed_json import from_typed, to_typed

if TYPE_CHECKING:
    from penstock.package import Package, Packages
    from penstock.package.lease import LeaseTimes
    from penstock.pipeline.context import PipelineContext
    from penstock.pipeline.state import State
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")
_LOCAL, _SOURCES, _HASH = "_local", "sources", "_version_hash"
_ID, _BASE_HASH, _CHANGED_SOURCES = "id", "of", "changed"
_CHANGEABLE: Final = frozenset((_LOCAL, _SOURCES))


@dataclass(frozen=True, slots=True)
class StateChange:
    """A state as it was, and as a user left it."""

    before: State
    after: State

    def __post_init__(self) -> None:
        """Refuse changes that nobody would find again: everything else follows from the loads."""
        names = (self.before.keys() | self.after.keys()) - _CHANGEABLE
        changed = [name for name in names if self.before.get(name) != self.after.get(name)]
        if changed:
            raise UsageError(
                f"{min(changed)!r} of the state was changed, which nobody keeps",
                hint="change what is below 'sources', or '_local' for values of this machine",
            )

    @property
    def changed_sources(self) -> tuple[str, ...]:
        """The sources that remember something else now."""
        was, now = typed_copy(self.before), typed_copy(self.after)
        return tuple(name for name in {**was, **now} if was.get(name) != now.get(name))

    @property
    def has_local_changes(self) -> bool:
        """Whether values of this machine were changed."""
        return bool(self.before.get(_LOCAL, {}) != self.after.get(_LOCAL, {}))


def save_local_value(workdir: WorkDir, key: str, value: Any) -> None:
    """Save a value of this machine; it is never loaded."""
    workdir.save_local_values({**workdir.local_values(), key: to_typed(value)})


def save_locally(change: StateChange, context: PipelineContext) -> None:
    """Keep changes in the working folder; the next package takes them along."""
    _save_local_values(change, context)
    if change.changed_sources:
        # What is changed again has the change before in it.
        names = _pending_change(change, context).get(_CHANGED_SOURCES, ())
        context.workdir.save_local_changes(
            context.dataset_name,
            {
                _ID: uuid4().hex,
                _BASE_HASH: change.before.get(_HASH),
                _CHANGED_SOURCES: list(dict.fromkeys((*names, *change.changed_sources))),
                _SOURCES: to_typed(change.after.get(_SOURCES, {})),
            },
        )


def save_as_packages(
    change: StateChange, context: PipelineContext, packages: Packages, lease_times: LeaseTimes
) -> None:
    """Leave a package for each source that remembers something else: the next load brings it."""
    _save_local_values(change, context)
    names, before = change.changed_sources, _pending_change(change, context).get(_ID)
    if not names:
        return
    with packages.lease(pipeline=context.pipeline_name, times=lease_times) as lease:
        made: list[Package] = []
        for _ in names:
            made.append(packages.new_package())
            made[-1].create()
        lease.check()
        for name, package in zip(names, made, strict=True):
            left = ExtractManifest(schema_name=name, state=typed_copy(change.after), change_id=before)
            package.mark_extracted(left.to_dict(), epoch=lease.epoch)
        lease.confirm()


def apply_local_changes(state: State, workdir: WorkDir) -> tuple[State, str | None]:
    """The state with changes that wait for it on this machine, and the id of these, if there are any.

    Those of another state are told and left.
    """
    changes = workdir.local_changes(state["dataset_name"])
    if changes is None:
        return state, None
    if changes[_BASE_HASH] != state.get(_HASH):
        _LOG.warning("a change of the state is not taken over: another load has changed it since")
        return state, None
    sources: dict[str, Any] = from_typed(changes[_SOURCES])
    return {**state, _SOURCES: sources}, changes[_ID]


def discard_applied_changes(
    workdir: WorkDir, dataset_name: str, state: State, extracted: ExtractManifest
) -> None:
    """Let changes go that a load has taken over; others stay, and are told by who finds them.

    A load takes what its own source remembers from its package, and that of others from the state.
    """
    changes = workdir.local_changes(dataset_name)
    if changes is None:
        return
    now, said = state.get(_SOURCES, {}), changes[_SOURCES]
    others = [name for name in changes[_CHANGED_SOURCES] if name != extracted.schema_name]
    is_own = len(others) == len(changes[_CHANGED_SOURCES]) or extracted.change_id == changes[_ID]
    if is_own and all(now.get(name) == said.get(name) for name in others):
        workdir.save_local_changes(dataset_name, None)


def _pending_change(change: StateChange, context: PipelineContext) -> dict[str, Any]:
    """The change that waits and is in the state as it was before another one."""
    changes = context.workdir.local_changes(context.dataset_name) or {}
    return changes if changes.get(_BASE_HASH) == change.before.get(_HASH) else {}


def _save_local_values(change: StateChange, context: PipelineContext) -> None:
    if change.has_local_changes:
        context.workdir.save_local_values(to_typed(change.after.get(_LOCAL, {})))
