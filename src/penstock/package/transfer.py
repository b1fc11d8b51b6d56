"""Carries an extracted package to another storage: the data first and checked, the marker last."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from penstock.errors import PackageDamaged
from penstock.package.layout import DATA_FOLDER, STATE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.package.lease import Lease
    from penstock.package.package import Package
    from penstock.package.storage import FileStorage

_CHUNK_BYTES = 8 * 1024 * 1024


def transfer_package(package: Package, target: Package, *, lease: Lease, is_transferred: bool) -> Package:
    """Copy a package that was extracted where executors do not see it, then delete it; return the copy.

    `lease` is that of the target, and `is_there` says whether the target counts already. Safe to call again:
    until the copy's marker counts the original does. A marker that is written after another run has taken
    over does not count, so the original is deleted only once the lease is confirmed.
    """
    if not is_transferred:
        if package.status == "new":  # what follows would delete the only copy
            raise PackageDamaged(path=package.path, reason="it was not extracted to its end")
        for name in _list_files(package.store, DATA_FOLDER):
            _copy_file(package.store, target.store, name)
        state = package.store.read(STATE_FILE)
        if state is not None:
            target.store.put(STATE_FILE, state)
        lease.check()
        target.mark_extracted(package.read_extracted(), epoch=lease.epoch)
        lease.confirm()
    package.delete()
    return target


def _list_files(storage: FileStorage, folder: str) -> Iterator[str]:
    for entry in storage.entries(folder):
        name = f"{folder}/{entry.name}"
        if entry.is_folder:
            yield from _list_files(storage, name)
        else:
            yield name


def _copy_file(source: FileStorage, target: FileStorage, name: str) -> None:
    with source.open(name) as rows, target.open_new(name) as copy:
        shutil.copyfileobj(rows, copy, _CHUNK_BYTES)
    sizes = [storage.size(name) for storage in (source, target)]
    if sizes[0] != sizes[1]:
        raise PackageDamaged(path=target.path(name), reason=f"{sizes[1]} of {sizes[0]} bytes arrived")
