"""State that a user has changed by hand: kept on this machine for the next package, or left in packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from penstock.config import logger
from penstock.errors import UsageError
from penstock.extract.memory import kept
from penstock.package.extracted import Extracted
from penstock.package.typed import from_typed, to_typed

if TYPE_CHECKING:
    from penstock.package import Package, Packages
    from penstock.package.holder import LeaseTimes
    from penstock.pipeline.home import Home
    from penstock.pipeline.state import State
    from penstock.pipeline.workdir import WorkDir

_LOG = logger("penstock.pipeline")
_LOCAL, _SOURCES, _HASH = "_local", "sources", "_version_hash"
_ID, _OF, _NAMES = "id", "of", "changed"
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
        # What is changed again has the change before in it.
        names = _waiting(change, home).get(_NAMES, ())
        home.workdir.save_unsent(
            home.dataset_name,
            {
                _ID: uuid4().hex,
                _OF: change.before.get(_HASH),
                _NAMES: list(dict.fromkeys((*names, *change.sources))),
                _SOURCES: to_typed(change.after.get(_SOURCES, {})),
            },
        )


def leave_packages(change: StateChange, home: Home, packages: Packages, times: LeaseTimes) -> None:
    """Leave a package for each source that remembers something else: the next load brings it."""
    _keep_local(change, home)
    names, before = change.sources, _waiting(change, home).get(_ID)
    if not names:
        return
    with packages.lease(pipeline=home.pipeline_name, times=times) as lease:
        made: list[Package] = []
        for _ in names:
            made.append(packages.new_package())
            made[-1].create()
        lease.check()
        for name, package in zip(names, made, strict=True):
            left = Extracted(schema_name=name, state=kept(change.after), change=before)
            package.mark_extracted(left.to_dict(), epoch=lease.epoch)
        lease.confirm()


def with_unsent(state: State, workdir: WorkDir) -> tuple[State, str | None]:
    """The state with changes that wait for it on this machine, and the id of these, if there are any.

    Those of another state are told and left.
    """
    changes = workdir.unsent(state["dataset_name"])
    if changes is None:
        return state, None
    if changes[_OF] != state.get(_HASH):
        _LOG.warning("a change of the state is not taken over: another load has changed it since")
        return state, None
    sources: dict[str, Any] = from_typed(changes[_SOURCES])
    return {**state, _SOURCES: sources}, changes[_ID]


def let_go_of_sent(workdir: WorkDir, dataset_name: str, state: State, extracted: Extracted) -> None:
    """Let changes go that a load has taken over; others stay, and are told by who finds them.

    A load takes what its own source remembers from its package, and that of others from the state.
    """
    changes = workdir.unsent(dataset_name)
    if changes is None:
        return
    now, said = state.get(_SOURCES, {}), changes[_SOURCES]
    others = [name for name in changes[_NAMES] if name != extracted.schema_name]
    is_own = len(others) == len(changes[_NAMES]) or extracted.change == changes[_ID]
    if is_own and all(now.get(name) == said.get(name) for name in others):
        workdir.save_unsent(dataset_name, None)


def _waiting(change: StateChange, home: Home) -> dict[str, Any]:
    """The change that waits and is in the state as it was before another one."""
    changes = home.workdir.unsent(home.dataset_name) or {}
    return changes if changes.get(_OF) == change.before.get(_HASH) else {}


def _keep_local(change: StateChange, home: Home) -> None:
    if change.is_local:
        home.workdir.save_local(to_typed(change.after.get(_LOCAL, {})))
