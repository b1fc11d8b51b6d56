"""Edits of the state by users: saved on this machine for the next package, or as packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from penstock.config import logger
from penstock.errors import UsageError
from penstock.extract.source_state import typed_copy
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.typed_json import from_typed, to_typed
from penstock.pipeline.state import ENGINE_KEYS, user_values, with_user_values

if TYPE_CHECKING:
    from penstock.package import Package, Packages
    from penstock.package.lease import LeaseTimes
    from penstock.pipeline.context import PipelineContext
    from penstock.pipeline.state import State
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")
_LOCAL, _SOURCES, _HASH = "_local", "sources", "_version_hash"
_ID, _BASE_HASH, _CHANGED_SOURCES, _USER_VALUES = "id", "of", "changed", "values"


@dataclass(frozen=True, slots=True)
class StateChange:
    """A state before and after a user has edited it."""

    before: State
    after: State

    def __post_init__(self) -> None:
        """Refuse changes of the keys that every load writes."""
        changed = [name for name in ENGINE_KEYS if self.before.get(name) != self.after.get(name)]
        if changed:
            raise UsageError(
                f"{min(changed)!r} of the state was changed, which is not saved: every load writes it",
                hint="change what is below 'sources', '_local' for this machine, or a key of your own",
            )

    @property
    def changed_sources(self) -> tuple[str, ...]:
        """The sources whose state differs."""
        before, after = typed_copy(self.before), typed_copy(self.after)
        return tuple(name for name in {**before, **after} if before.get(name) != after.get(name))

    @property
    def has_user_values(self) -> bool:
        """Whether keys of users beside `sources` and `_local` differ."""
        return user_values(self.before) != user_values(self.after)

    @property
    def has_local_changes(self) -> bool:
        """Whether values of this machine differ."""
        return bool(self.before.get(_LOCAL, {}) != self.after.get(_LOCAL, {}))


def save_local_value(workdir: WorkDir, key: str, value: Any) -> None:
    """Save a value of this machine; it is never loaded."""
    workdir.save_local_values({**workdir.local_values(), key: to_typed(value)})


def save_locally(change: StateChange, context: PipelineContext) -> None:
    """Save changes in the working folder; they are loaded with the next package."""
    _save_local_values(change, context)
    if change.changed_sources or change.has_user_values:
        # This change contains an earlier one that is not loaded yet.
        names = _pending_change(change, context).get(_CHANGED_SOURCES, ())
        context.workdir.save_local_changes(
            context.dataset_name,
            {
                _ID: uuid4().hex,
                _BASE_HASH: change.before.get(_HASH),
                _CHANGED_SOURCES: list(dict.fromkeys((*names, *change.changed_sources))),
                _SOURCES: to_typed(change.after.get(_SOURCES, {})),
                _USER_VALUES: to_typed(user_values(change.after)),
            },
        )


def save_as_packages(
    change: StateChange, context: PipelineContext, packages: Packages, lease_times: LeaseTimes
) -> None:
    """Save changes as one package for each changed source, which the next load applies.

    The first one has the keys of users.
    """
    _save_local_values(change, context)
    names, change_id = change.changed_sources, _pending_change(change, context).get(_ID)
    values = to_typed(user_values(change.after)) if change.has_user_values else None
    if not names and values is not None:
        names = (change.after["default_schema_name"],)
    if not names:
        return
    with packages.lease(pipeline=context.pipeline_name, times=lease_times) as lease:
        state_packages: list[Package] = []
        for _ in names:
            state_packages.append(packages.new_package())
            state_packages[-1].create()
        lease.check()
        for name, package in zip(names, state_packages, strict=True):
            manifest = ExtractManifest(
                schema_name=name, state=typed_copy(change.after), user_values=values, change_id=change_id
            )
            values = None
            package.mark_extracted(manifest.to_dict(), epoch=lease.epoch)
        lease.confirm()


def apply_local_changes(state: State, workdir: WorkDir) -> tuple[State, str | None]:
    """Return the state with the local changes that are based on it, and their id.

    Changes that are based on another state are logged and ignored.
    """
    changes = workdir.local_changes(state["dataset_name"])
    if changes is None:
        return state, None
    if changes[_BASE_HASH] != state.get(_HASH):
        _LOG.warning("a local change of the state is ignored: another load has changed the state since")
        return state, None
    values = from_typed(changes[_USER_VALUES]) if _USER_VALUES in changes else user_values(state)
    return {**with_user_values(state, values), _SOURCES: from_typed(changes[_SOURCES])}, changes[_ID]


def discard_applied_changes(
    workdir: WorkDir, dataset_name: str, state: State, extracted: ExtractManifest
) -> None:
    """Discard local changes that a load has applied; keep the rest.

    A load takes the state of its source from its package, and that of others from the stored state.
    """
    changes = workdir.local_changes(dataset_name)
    if changes is None:
        return
    loaded, changed = state.get(_SOURCES, {}), changes[_SOURCES]
    others = [name for name in changes[_CHANGED_SOURCES] if name != extracted.schema_name]
    has_own_change = len(others) == len(changes[_CHANGED_SOURCES]) or extracted.change_id == changes[_ID]
    replaces_values = extracted.change_id == changes[_ID] and extracted.user_values is not None
    has_values = replaces_values or changes.get(_USER_VALUES) in (None, user_values(state))
    if has_own_change and has_values and all(loaded.get(name) == changed.get(name) for name in others):
        workdir.save_local_changes(dataset_name, None)


def _pending_change(change: StateChange, context: PipelineContext) -> dict[str, Any]:
    """Return the saved local change that `change` is based on; empty if none is."""
    changes = context.workdir.local_changes(context.dataset_name) or {}
    return changes if changes.get(_BASE_HASH) == change.before.get(_HASH) else {}


def _save_local_values(change: StateChange, context: PipelineContext) -> None:
    if change.has_local_changes:
        context.workdir.save_local_values(to_typed(change.after.get(_LOCAL, {})))
