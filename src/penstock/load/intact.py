"""Looks whether the files of a package are those that it was sealed with, before a table is touched."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from penstock.errors import PackageDamaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.package import DataFolder, Package

# A listing waits for the storage most of its time.
_LISTING_THREADS: Final = 16


def verify_data_files(package: Package, folders: Sequence[DataFolder]) -> None:
    """Raise where files are missing, are more, or have another size. They are listed, and none is opened."""

    def check(folder: DataFolder) -> None:
        reason = folder.find_mismatch(package.store.entries(folder.path))
        if reason is not None:
            raise PackageDamaged(path=package.store.path(folder.path), reason=reason)

    with ThreadPoolExecutor(max_workers=_LISTING_THREADS, thread_name_prefix="penstock-intact") as threads:
        for _ in threads.map(check, folders):
            pass
