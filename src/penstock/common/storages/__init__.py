"""Storages, by the import path of the reference page."""

from penstock.package import FileStorage, LoadJobInfo, LoadPackageInfo, PackageStorage, ParsedLoadJobFileName

__all__ = ["FileStorage", "LoadJobInfo", "LoadPackageInfo", "PackageStorage", "ParsedLoadJobFileName"]
