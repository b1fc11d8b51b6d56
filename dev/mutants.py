"""Breaks safeguards of the code one by one, and shows the test that fails: `python dev/mutants.py [name ...]`.

Each mutant replaces one text in a copy of the tree and runs the tests that must fail. A text that does not
occur exactly once is an error: the list must match the code. `--spark` runs those whose tests need Spark,
`--jobs` sets how many run in parallel. Exit code 1 when a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "dev", "docs", "examples", "pyproject.toml", "README.md", "CHANGELOG.md", "uv.lock")
PACKAGE, LOAD, PIPELINE = "tests/unit/package", "tests/unit/load", "tests/unit/pipeline"
DESTINATIONS = "tests/unit/destinations"
TWO_MACHINES = f"{PIPELINE}/test_two_machines.py"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A safeguard: its text in the code, the replacement, and the tests that must fail."""

    name: str
    path: str
    """Below `src/penstock`."""
    old: str
    new: str
    tests: tuple[str, ...]
    spark: bool = False


def unit(name: str, path: str, old: str, new: str, *tests: str) -> Mutant:
    """Return a mutant whose tests need no Spark."""
    return Mutant(name, path, old, new, tests)


def spark(name: str, path: str, old: str, new: str, *tests: str) -> Mutant:
    """Return a mutant whose tests need Spark."""
    return Mutant(name, path, old, new, tests, spark=True)


# ruff: noqa: E501 (texts are those of the code)
MUTANTS = (
    # --- files on a disk and in object storage
    unit(
        "put-if-absent on a disk",
        "package/local_files.py",
        "        os.link(temp_path, path)\n    except FileExistsError:",
        "        shutil.copyfile(temp_path, path)\n    except FileExistsError:",
        f"{PACKAGE}/test_storage.py",
        f"{PACKAGE}/test_packages.py",
    ),
    unit(
        "put-if-absent in object storage",
        "package/object_files.py",
        'lambda: self._pipe(path, content, mode="create")',
        "lambda: self._pipe(path, content)",
        f"{PACKAGE}/test_storage.py",
        f"{PACKAGE}/test_model.py",
    ),
    unit(
        "sync of a file's content",
        "package/local_files.py",
        "            if durable:\n                os.fsync(stream.fileno())\n",
        "",
        f"{PACKAGE}/test_storage.py",
    ),
    unit(
        "sync of a data file",
        "package/local_files.py",
        "                os.fsync(self.fileno())\n",
        "",
        f"{PACKAGE}/test_storage.py",
    ),
    unit(
        "sync of folders",
        "package/local_files.py",
        "    try:\n        os.fsync(handle)\n    finally:",
        "    try:\n        pass\n    finally:",
        f"{PACKAGE}/test_storage.py",
    ),
    unit(
        "sync of new folders",
        "package/local_files.py",
        "            raise\n    _fsync_folder(parent)\n",
        "            raise\n",
        f"{PACKAGE}/test_storage.py",
    ),
    unit(
        "sync of the folders of a group of files",
        "package/local_files.py",
        "        for folder in folders:\n            _fsync_folder(folder)\n",
        "",
        f"{PACKAGE}/test_storage.py",
    ),
    unit(
        "path traversal in names",
        "package/storage.py",
        'if part in {"", ".", ".."}:',
        'if part in {""}:',
        f"{PACKAGE}/test_bad_names.py",
        f"{PACKAGE}/test_bad_input.py",
    ),
    unit(
        "path traversal by links",
        "package/storage.py",
        "            if any(is_link(ancestor) for ancestor in islice(paths, 1, None)):",
        "            if any(is_link(ancestor) for ancestor in islice(paths, 0)):",
        f"{PACKAGE}/test_bad_names.py",
        f"{PACKAGE}/test_bad_input.py",
        f"{PACKAGE}/test_damage.py",
    ),
    unit(
        "size limit of control files",
        "package/storage.py",
        "        if len(content) > MAX_CONTROL_FILE_BYTES:",
        "        if len(content) > 1 << 60:",
        f"{PACKAGE}/test_bad_input.py",
    ),
    unit(
        "duplicate keys in JSON",
        "package/storage.py",
        "    if len(document) != len(pairs):",
        "    if len(document) > len(pairs):",
        f"{PACKAGE}/test_damage.py",
    ),
    unit(
        "table of trusted storages",
        "package/trust.py",
        "    reason = TRUSTED_PROTOCOLS.get(protocol)\n",
        '    reason = TRUSTED_PROTOCOLS.get(protocol, "any storage")\n',
        f"{PACKAGE}/test_trust.py",
    ),
    unit(
        "check of put-if-absent on a new storage",
        "package/trust.py",
        "    if first and not second:\n",
        "    if first:\n",
        f"{PACKAGE}/test_trust.py",
    ),
    # --- packages, slots and decisions
    unit(
        "put-if-absent of a slot",
        "package/slots.py",
        "        if not self._storage.put_if_absent(name, content) and self._storage.read(name) != content:\n"
        "            return False\n",
        "        self._storage.put(name, content)\n",
        f"{PACKAGE}/test_packages.py",
        f"{PACKAGE}/test_contention.py",
    ),
    unit(
        "put-if-absent of a decision",
        "package/slots.py",
        "self._storage.put_if_absent(_decision_path(decision.sequence), encode_control(asdict(decision)))",
        "self._storage.put(_decision_path(decision.sequence), encode_control(asdict(decision)))",
        f"{PACKAGE}/test_packages.py",
        f"{PACKAGE}/test_contention.py",
    ),
    unit(
        "no slot while a load is open",
        "package/packages.py",
        "        return manifest is None or self._complete_sealed(manifest).is_ended\n",
        "        return manifest is None or self._complete_sealed(manifest) is not None\n",
        f"{PACKAGE}/test_packages.py",
        f"{PACKAGE}/test_model.py",
    ),
    unit(
        "no commit of an aborted load",
        "package/packages.py",
        '        if decision.decision == "abort":\n            raise LoadPackageAborted',
        '        if decision.decision == "never":\n            raise LoadPackageAborted',
        f"{PACKAGE}/test_packages.py",
        f"{PACKAGE}/test_model.py",
    ),
    unit(
        "markers are deleted before a package's data",
        "package/package.py",
        "        self.store.delete_file(EXTRACTED_FILE)\n        self.store.delete_file(NORMALIZED_FILE)\n",
        "",
        f"{PACKAGE}/test_package.py",
        f"{PACKAGE}/test_packages.py",
        f"{PACKAGE}/test_kills.py",
    ),
    unit(
        "results of a completed job are not overwritten",
        "package/job_folders.py",
        "        if result is not None and (is_leased or self._exists_in(STARTED_JOBS, name)):\n",
        "        if result is not None:\n",
        f"{PACKAGE}/test_job_folders.py",
        f"{PACKAGE}/test_page.py",
    ),
    unit(
        "a data folder has exactly the written files",
        "package/folder.py",
        "        if _digest(files) != self.digest:\n",
        "        if not self.digest:\n",
        f"{PACKAGE}/test_folder.py",
        f"{LOAD}/test_run.py",
    ),
    unit(
        "size of a transferred file",
        "package/packages.py",
        "    if sizes[0] != sizes[1]:\n",
        "    if sizes[0] < 0:\n",
        f"{PACKAGE}/test_transfer.py",
    ),
    # --- the ledger
    unit(
        "state only through a commit",
        "package/file_ledger.py",
        "            if record is not None and record.status == 0:\n"
        "                return self._read_state(name)\n        if indexed",
        "            return self._read_state(name)\n        if indexed",
        f"{PACKAGE}/test_file_ledger.py",
    ),
    unit(
        "put-if-absent of a commit in the ledger",
        "package/file_ledger.py",
        "        return self._store.put_if_absent(name, as_json(record.as_doc()))\n",
        "        self._store.put(name, as_json(record.as_doc()))\n        return True\n",
        f"{PACKAGE}/test_file_ledger.py",
    ),
    # --- the lease
    unit(
        "a lease check fails after its expiry",
        "package/lease.py",
        "        if self._is_expired():\n            self._mark_lost()\n        if self._lost.is_set():\n",
        "        if self._lost.is_set():\n",
        f"{PACKAGE}/test_lease.py",
    ),
    unit(
        "a heartbeat never renews an expired lease",
        "package/lease.py",
        "        if self._is_expired():\n            self._mark_lost()\n            return\n        self._heartbeat_count",
        "        self._heartbeat_count",
        f"{PACKAGE}/test_lease.py",
    ),
    unit(
        "a heartbeat detects a later epoch",
        "package/lease.py",
        "        if current_epoch(self._storage) > self.epoch:\n            self._mark_lost()\n            return\n",
        "",
        f"{PACKAGE}/test_lease.py",
    ),
    unit(
        "a holder is watched before its lease is taken over",
        "package/lease.py",
        "    while _now() < deadline:\n",
        "    while _now() < deadline - 1e9:\n",
        f"{PACKAGE}/test_lease.py",
    ),
    unit(
        "put-if-absent of an epoch",
        "package/lease.py",
        '    if not storage.put_if_absent(_path(own_epoch, "json"), encode_control(asdict(holder))):\n',
        '    if storage.put(_path(own_epoch, "json"), encode_control(asdict(holder))):\n',
        f"{PACKAGE}/test_contention.py",
        f"{PACKAGE}/test_lease.py",
    ),
    # --- loads
    unit(
        "lease check before the commit",
        "load/run.py",
        "        target.assert_leased()\n        # Every load",
        "        # Every load",
        f"{LOAD}/test_run.py",
    ),
    unit(
        "decision before the ledger's row",
        "load/run.py",
        "    target.packages.commit(manifest)\n"
        "    if not _commit_to_ledger(manifest, target, state, applied):\n",
        "    is_new = _commit_to_ledger(manifest, target, state, applied)\n"
        "    target.packages.commit(manifest)\n    if not is_new:\n",
        f"{LOAD}/test_run.py",
        f"{LOAD}/test_abort.py",
    ),
    unit(
        "the ledger row is written last",
        "load/run.py",
        "    with _load_package_context(package, state):\n        prepared",
        "    _commit_to_ledger(manifest, target, state, {})\n"
        "    with _load_package_context(package, state):\n        prepared",
        f"{LOAD}/test_run.py",
    ),
    unit(
        "files are verified before a table changes",
        "load/run.py",
        "    verify_data_files(package, manifest.folders if is_atomic else job_board.unread_folders(manifest))\n",
        "",
        f"{LOAD}/test_run.py",
    ),
    unit(
        "nested tables before their root",
        "load/plan.py",
        "for wave in (nested_jobs, root_jobs) if wave",
        "for wave in (root_jobs, nested_jobs) if wave",
        f"{LOAD}/test_plan.py",
        f"{LOAD}/test_run.py",
    ),
    unit(
        "lease check before each job",
        "load/engine.py",
        "            self._target.assert_leased()\n            task =",
        "            task =",
        f"{LOAD}/test_run.py",
        f"{TWO_MACHINES}::test_a_run_whose_lease_has_run_out_makes_no_further_decision",
    ),
    unit(
        "a load is aborted before its tables are undone",
        "load/abort.py",
        "    decision = target.packages.abort(manifest, facts)\n",
        "    with target.client() as client:\n"
        "        for applied in commits if isinstance(client, WithUndo) else ():\n"
        "            _fence_and_undo(client, applied.table, applied, manifest.mark)\n"
        "    decision = target.packages.abort(manifest, facts)\n",
        f"{LOAD}/test_abort.py",
    ),
    unit(
        "secrets in messages of failed jobs",
        "load/worker.py",
        "    return redact(cause.message if isinstance(cause, PenstockError) else",
        "    return (cause.message if isinstance(cause, PenstockError) else",
        f"{LOAD}/test_worker.py",
    ),
    # --- the pipeline
    unit(
        "lease check before the seal",
        "pipeline/execution.py",
        "        lease.confirm()\n        if not self._packages.seal(manifest, after=self._last_sequence):\n",
        "        if not self._packages.seal(manifest, after=self._last_sequence):\n",
        f"{TWO_MACHINES}::test_a_run_whose_lease_has_run_out_makes_no_further_decision",
    ),
    unit(
        "lease check before a package is marked as extracted",
        "pipeline/extraction.py",
        "        self.lease.check()\n        for package, result in complete:\n",
        "        for package, result in complete:\n",
        f"{TWO_MACHINES}::test_a_run_whose_lease_has_run_out_makes_no_further_decision",
    ),
    unit(
        "a lease is confirmed after a package is marked as extracted",
        "pipeline/extraction.py",
        "            self.lease.confirm()\n        return [package for package, _ in complete]\n",
        "            pass\n        return [package for package, _ in complete]\n",
        f"{TWO_MACHINES}::test_a_package_that_is_marked_as_extracted_after_a_takeover_is_not_loaded",
    ),
    unit(
        "markers that are written after a takeover do not count",
        "package/packages.py",
        "            return written is None or written >= epoch or package.load_id in accepted\n",
        "            return written is None or written >= 0 or package.load_id in accepted\n",
        f"{TWO_MACHINES}::test_a_package_that_is_marked_as_extracted_after_a_takeover_is_not_loaded",
    ),
    unit(
        "a lease is confirmed before the original of a carried package is deleted",
        "package/packages.py",
        "        lease.confirm()\n",
        "",
        f"{TWO_MACHINES}::test_a_transfer_that_continues_after_a_takeover_loses_no_rows",
    ),
    unit(
        "a package that is loaded is not carried",
        "pipeline/unbound_packages.py",
        "                if ledger.find_commit(schema_name=schema_name, load_id=load_id) is not None:\n",
        "                if not load_id:\n",
        f"{TWO_MACHINES}::test_a_package_that_was_loaded_elsewhere_is_not_transferred_again",
    ),
    unit(
        "a package that is loaded is not sealed",
        "pipeline/execution.py",
        "            if self._finish_if_loaded(package, extracted, lease):\n",
        "            if not package:\n",
        f"{TWO_MACHINES}::test_a_copy_of_a_package_that_is_loaded_is_not_loaded_again",
    ),
    unit(
        "a marker alone is no package",
        "package/package.py",
        '        if EXTRACTED_FILE not in names:\n            return "new"\n',
        '        if not names & {EXTRACTED_FILE, NORMALIZED_FILE}:\n            return "new"\n',
        f"{PACKAGE}/test_package.py",
        f"{PACKAGE}/test_packages.py",
    ),
    unit(
        "a load that another process has completed is reported",
        "load/run.py",
        "    if not _commit_to_ledger(manifest, target, state, applied):\n        raise _completed_elsewhere(manifest)\n",
        "    _commit_to_ledger(manifest, target, state, applied)\n",
        f"{LOAD}/test_run.py",
    ),
    unit(
        "size limit of an unpacked state",
        "pipeline/state.py",
        "unpacker.decompress(base64.b64decode(text), _MAX_BYTES)",
        "unpacker.decompress(base64.b64decode(text))",
        f"{PIPELINE}/test_state.py",
    ),
    unit(
        "a load that is complete is not applied again",
        "pipeline/execution.py",
        "            is_committed = self._workspace.is_committed(sealed)\n",
        "            is_committed = False\n",
        f"{TWO_MACHINES}::test_a_load_that_is_complete_is_finished_and_not_applied_again",
    ),
    # --- secrets and names
    unit(
        "secrets in log records",
        "redaction.py",
        "        record.msg, record.args = redact(message), None\n",
        "        record.msg, record.args = message, None\n",
        "tests/unit/test_redaction.py",
    ),
    unit(
        "secrets are registered for redaction",
        "redaction.py",
        "    _registry.add(str(secret))\n",
        "    str(secret)\n",
        "tests/unit/test_redaction.py",
        "tests/unit/config/test_secret.py",
    ),
    unit(
        "quoting of identifiers",
        "schema/spark_sql.py",
        "f\"`{part.replace('`', '``')}`\" for part in parts",
        'f"`{part}`" for part in parts',
        f"{PACKAGE}/test_projection.py",
        "src/penstock/schema/spark_sql.py",
    ),
    unit(
        "quoting of texts",
        "schema/spark_sql.py",
        "    return f\"'{_ESCAPED.sub(_escape, text)}'\"\n",
        "    return f\"'{text}'\"\n",
        f"{PACKAGE}/test_projection.py",
        "src/penstock/schema/spark_sql.py",
    ),
    # --- rows and schemas
    unit(
        "row counts of normalize input and output",
        "normalize/table_parts.py",
        "    if dataset.rows != table_input.rows:\n",
        "    if dataset.rows < 0:\n",
        "tests/unit/normalize/test_table_parts.py",
    ),
    unit(
        "count of unreadable rows",
        "normalize/report.py",
        "        unreadable=sum(report.unreadable for report in reports),\n",
        "        unreadable=reports[0].unreadable,\n",
        "tests/unit/normalize/test_report.py",
    ),
    unit(
        "contract of the run before that of the table",
        "schema/contract.py",
        "    if run_contract is not None:\n        return Contract.from_settings(run_contract)\n",
        "",
        "tests/unit/schema/test_contract.py",
    ),
    unit(
        "a frozen contract stops the run",
        "schema/decision.py",
        '            if refusal.mode == "freeze":\n',
        '            if refusal.mode == "never":\n',
        "tests/unit/schema/test_contract_outcomes.py",
        "tests/unit/schema/test_contract.py",
    ),
    unit(
        "rows at the boundary of a cursor are read once",
        "extract/cursor/boundary.py",
        "        return digest in self._state_digests or (\n            self._file is not None and digest in self._read_file_digests()\n        )\n",
        "        return self._file is not None and digest in self._read_file_digests()\n",
        "tests/unit/extract/cursor/test_boundary.py",
        "tests/unit/extract/cursor/test_tracker.py",
    ),
    unit(
        "a boundary file matches the digest in the state",
        "extract/cursor/boundary_files.py",
        "        if digest != file.digest:\n",
        "        if not digest:\n",
        "tests/unit/extract/cursor/test_boundary.py",
        "tests/unit/extract/cursor/test_limited_runs.py",
    ),
    # --- tables
    unit(
        "a write that Delta skipped",
        "destinations/delta/run.py",
        "            raise DestinationAhead(table=table, sequence=mark.sequence)\n",
        "            return AppliedJob(table=table, skipped=True)\n",
        f"{DESTINATIONS}/delta/test_run.py",
    ),
    unit(
        "a commit to Delta that is not in the history",
        "destinations/delta/run.py",
        "            raise CommitLost(table=table, sequence=mark.sequence)\n",
        "            return AppliedJob(table=table)\n",
        f"{DESTINATIONS}/delta/test_run.py",
    ),
    unit(
        "an Iceberg table is ahead of the load",
        "destinations/iceberg/history.py",
        "            if is_ahead(snapshot.summary, mark):\n",
        "            if is_ahead(snapshot.summary, mark) and not snapshot:\n",
        f"{DESTINATIONS}/iceberg/test_history.py",
    ),
    unit(
        "put-if-absent of a commit to plain files",
        "destinations/filesystem/table_log.py",
        "            if not self._store.put_if_absent(self._entry_name(entry.version), entry.to_json()):\n",
        "            if self._store.put(self._entry_name(entry.version), entry.to_json()):\n",
        f"{DESTINATIONS}/filesystem/test_table_log.py",
        f"{DESTINATIONS}/filesystem/test_plain_client.py",
    ),
    unit(
        "the file list of a load is published once",
        "destinations/filesystem/table_files.py",
        "        self.store.put_if_absent(self._name(load_id), encode_control(file_list.to_dict()))\n",
        "        self.store.put(self._name(load_id), encode_control(file_list.to_dict()))\n",
        f"{DESTINATIONS}/filesystem/test_table_files.py",
        f"{DESTINATIONS}/filesystem/test_plain_client.py",
        f"{DESTINATIONS}/filesystem/test_table_log.py",
    ),
    unit(
        "size of a published plain file",
        "destinations/filesystem/table_files.py",
        "        if size != file.bytes:\n",
        "        if size is None:\n",
        f"{DESTINATIONS}/filesystem/test_table_files.py",
        f"{DESTINATIONS}/filesystem/test_plain_client.py",
        f"{DESTINATIONS}/filesystem/test_table_log.py",
    ),
    spark(
        "count of rows after they are shaped",
        "normalize/rows.py",
        "            check_row_count(table_input, datasets[0])\n",
        "            pass\n",
        "tests/flow/test_lost_rows.py",
    ),
    spark(
        "count of rows of typed files",
        "normalize/frames.py",
        "    check_row_count(table_input, dataset)\n",
        "",
        "tests/flow/test_lost_rows.py",
    ),
    spark(
        "mark of a table's commit",
        "destinations/delta/run.py",
        '        options = {"mergeSchema": "true", **transaction_options(mark), **self._file_size_options()}\n',
        '        options = {"mergeSchema": "true", "userMetadata": load_metadata(mark), **self._file_size_options()}\n',
        "tests/flow/test_delta_once.py",
    ),
    spark(
        "mark of a file that the driver commits to Iceberg",
        "destinations/iceberg/file_commit.py",
        "        commit = history.find_commit(self.table, self.mark)\n",
        "        commit = None\n",
        "tests/flow/test_iceberg_files.py",
    ),
    spark(
        "branch of an attempt that Spark began",
        "destinations/iceberg/file_commit.py",
        "        if history.branch_head(self.mark) is not None:\n",
        "        if history.branch_head(self.mark) is not None and not history:\n",
        "tests/flow/test_iceberg_files.py",
    ),
    spark(
        "order of rows with one key",
        "destinations/lake/rows.py",
        "    order = [column(POSITION).desc()]\n",
        "    order = [column(POSITION).asc()]\n",
        "tests/flow/test_chains.py",
    ),
)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a mutant."""

    mutant: Mutant
    killed_by: str | None
    seconds: float
    output: str


class Tree:
    """A copy of the repository in which mutants are applied one after another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, folder / name)

    def test(self, *tests: str, stop: bool) -> tuple[int, str]:
        """Run tests against the copy; returns pytest's exit code and its output."""
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "-rfE"]
        command += ["--doctest-modules", *(["-x"] if stop else []), *tests]
        environment = {**os.environ, "PYTHONPATH": f"{self._folder / 'src'}{os.pathsep}{self._folder}"}
        done = subprocess.run(
            command, cwd=self._folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def run_tests(self, mutant: Mutant) -> Result:
        """Apply a mutant, run its tests, and revert it."""
        began, path = time.monotonic(), self._folder / "src/penstock" / mutant.path
        content = path.read_text(encoding="utf-8")
        path.write_text(content.replace(mutant.old, mutant.new), encoding="utf-8")
        try:
            code, output = self.test(*mutant.tests, stop=True)
        finally:
            path.write_text(content, encoding="utf-8")
        first = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
        if code not in {0, 1} or (code == 1 and first is None):
            raise SystemExit(f"the tests of {mutant.name!r} did not run:\n{output[-2000:]}")
        return Result(mutant, first[1] if code and first else None, time.monotonic() - began, output)


def stale(mutants: tuple[Mutant, ...]) -> list[str]:
    """Return mutants whose text is not in the code exactly once, or whose tests do not exist."""
    problems = []
    for mutant in mutants:
        path = ROOT / "src/penstock" / mutant.path
        count = path.read_text(encoding="utf-8").count(mutant.old) if path.exists() else 0
        if count != 1:
            problems.append(f"{mutant.name}: its text occurs {count} times in {mutant.path}")
        problems += [
            f"{mutant.name}: {test} does not exist"
            for test in mutant.tests
            if not (ROOT / test.partition("::")[0]).exists()
        ]
    return problems


def main() -> int:
    """Test the requested mutants; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of mutants; without any, all mutants run")
    parser.add_argument("--spark", action="store_true", help="run only mutants whose tests need Spark")
    parser.add_argument("--jobs", type=int, default=2, help="number of parallel runs")
    given = parser.parse_args()
    if problems := stale(MUTANTS):
        print("\n".join(problems))
        return 2
    chosen = [
        mutant
        for mutant in MUTANTS
        if mutant.spark == given.spark
        and (not given.names or any(name in mutant.name for name in given.names))
    ]
    print(f"{len(chosen)} of {len(MUTANTS)} mutants", flush=True)
    with tempfile.TemporaryDirectory(prefix="penstock-mutants-") as folder:
        trees: SimpleQueue[Tree] = SimpleQueue()
        jobs = 1 if given.spark else given.jobs
        for number in range(jobs):
            trees.put(Tree(Path(folder) / str(number)))
        tree = trees.get()
        code, output = tree.test(*dict.fromkeys(test for item in chosen for test in item.tests), stop=False)
        trees.put(tree)
        if code:
            print(f"tests fail without a mutant:\n{output[-4000:]}")
            return 2

        def run_tests(mutant: Mutant) -> Result:
            tree = trees.get()
            try:
                result = tree.run_tests(mutant)
            finally:
                trees.put(tree)
            print(f"{result.seconds:5.0f} s  {mutant.name}: {result.killed_by or 'SURVIVES'}", flush=True)
            return result

        with ThreadPoolExecutor(jobs) as threads:
            results = list(threads.map(run_tests, chosen))
    survivors = [result.mutant.name for result in results if result.killed_by is None]
    print(f"{len(results) - len(survivors)} killed, {len(survivors)} survive: {', '.join(survivors)}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
