"""Packages without rows, whose loads change the schema and the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.package import Packages
    from penstock.package.extract_manifest import ExtractManifest
    from penstock.package.lease import LeaseTimes


def save_rowless_package(
    manifest_of: Callable[[str], ExtractManifest],
    packages: Packages,
    *,
    pipeline_name: str,
    lease_times: LeaseTimes,
    hint: str,
) -> str:
    """Save a package that the next load applies, and return its id; refuse with `hint` while any is pending.

    `manifest_of` returns its manifest by the id. It is called while the lease is held, so that it can read
    what no other run changes, and before a package exists.
    """
    with packages.lease(pipeline=pipeline_name, times=lease_times) as lease:
        pending = packages.pending_packages()
        if pending:
            ids = ", ".join(package.load_id for package in pending)
            raise UsageError(f"packages of {pipeline_name!r} are pending: {ids}", hint=hint)
        package = packages.new_package()
        manifest = manifest_of(package.load_id)
        package.create()
        lease.check()
        package.mark_extracted(manifest.to_dict(), epoch=lease.epoch)
        lease.confirm()
        return package.load_id
