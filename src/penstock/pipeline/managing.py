"""State that a user has changed by hand: kept on this machine for the next package, or left in packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from penstock.config import logger
from penstock.errors import UsageError
from penstock.extract.memory import kept
from penstock.package.extracted import Extracted
from penstock.package.lease import held
from penstock.package.typed import from_typed, to_typed

if TYPE_CHECKING:
    from penstock.package import Package, Packages
    from penstock.package.holder import LeaseTimes
    from penstock.pipeline.home import Home
    from penstock.pipeline.state import State
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")
_LOCAL, _SOURCES, _HASH = "_local", "sources", "_version_hash"
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
    def sources(self) -> tuple[str, ...]:
        """The sources that remember something else now."""
        was, now = kept(self.before), kept(self.after)
        return tuple(name for name in {**was, **now} if was.get(name) != now.get(name))

    @property
    def is_local(self) -> bool:
        """Whether values of this machine were changed."""
        return bool(self.before.get(_LOCAL, {}) != self.after.get(_LOCAL, {}))


def keep_here(change: StateChange, home: Home) -> None:
    """Keep changes in the working folder; the next package takes them along."""
    _keep_local(change, home)
    if change.sources:
        home.workdir.save_unsent(
            {
                "dataset_name": home.dataset_name,
                "of": change.before.get(_HASH),
                _SOURCES: to_typed(change.after.get(_SOURCES, {})),
            }
        )


def leave_packages(change: StateChange, home: Home, packages: Packages, times: LeaseTimes) -> None:
    """Leave a package for each source that remembers something else: the next load brings it."""
    _keep_local(change, home)
    names = change.sources
    if not names:
        return
    with held(packages.store, pipeline=home.pipeline_name, times=times) as lease:
        made: list[Package] = []
        for _ in names:
            made.append(packages.new_package())
            made[-1].create()
        lease.check()
        for name, package in zip(names, made, strict=True):
            left = Extracted(schema_name=name, state=kept(change.after))
            package.mark_extracted(left.to_dict())


def with_unsent(state: State, workdir: WorkDir) -> State:
    """The state with changes that wait for it on this machine; those of another state are told and left."""
    changes = workdir.unsent()
    if changes is None or changes["dataset_name"] != state.get("dataset_name"):
        return state
    if changes["of"] != state.get(_HASH):
        _LOG.warning("a change of the state is not taken over: another load has changed it since")
        return state
    sources: dict[str, Any] = from_typed(changes[_SOURCES])
    return {**state, _SOURCES: sources}


def _keep_local(change: StateChange, home: Home) -> None:
    if change.is_local:
        home.workdir.save_local(to_typed(change.after.get(_LOCAL, {})))
