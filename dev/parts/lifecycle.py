"""Up, status and down: parts in the order of their dependencies, otherwise in parallel."""

import json
import os
import shlex
import shutil
import time
from collections.abc import Collection, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Final

from dev.parts import mariadb, postgres, s3, spark, toxiproxy
from dev.parts.cluster_python import USER
from dev.parts.folders import PartError, PartFolders, make_run_folders
from dev.parts.processes import Part, Started, is_alive, read_started, start, stop

_PARTS: Final = (*spark.PARTS, *postgres.PARTS, *mariadb.PARTS, *s3.PARTS, *toxiproxy.PARTS)
PARTS: Final = {part.name: part for part in _PARTS}
"""Every part comes after those that it needs."""
CHOICES: Final = tuple(dict.fromkeys(part.group for part in PARTS.values()))
USUAL: Final = tuple(group for group in CHOICES if group != "mariadb")
"""The parts that `up` starts without arguments."""
PATIENCE_SECONDS: Final = 180.0
LAST_WORDS: Final = 20

Row = tuple[str, str, str, str]


def up(folders: PartFolders, choices: Collection[str]) -> int:
    """Start parts and their dependencies; healthy parts are not restarted."""
    folders.cache.mkdir(parents=True, exist_ok=True)
    make_run_folders(folders)
    remaining, chosen = _healthy_parts(folders), _with_needs(choices)
    missing = {name: part for name, part in chosen.items() if name not in remaining}
    orphans = {name for name, part in PARTS.items() if missing.keys() & part.needs}
    _stop_named(
        missing.keys() | orphans, folders
    )  # remains of crashed parts and of parts that depend on them
    rows = [_row(each, "already runs") for name, each in remaining.items() if name in chosen]
    try:
        rows += _start_all(list(missing.values()), remaining, folders)
    except BaseException:
        _stop_named(missing.keys(), folders)
        raise
    _write_addresses(folders)
    _print_table(rows)
    print(f"addresses: {folders.run / 'parts.env'}")
    return 0


def status(folders: PartFolders) -> int:
    """Print the state of each part; the exit code is 0 when parts run and all are healthy."""
    healthy, existing = _healthy_parts(folders), read_started(folders)
    _print_table(
        [_row(each, "well" if name in healthy else _problem(each)) for name, each in existing.items()]
    )
    return 0 if existing and len(healthy) == len(existing) else 1


def down(folders: PartFolders) -> int:
    """Stop every part and remove the run folder, with the remains of crashed parts."""
    if not folders.records.exists():
        print("nothing runs")
        return 0
    existing = read_started(folders)
    stop(existing.values(), folders)
    shutil.rmtree(folders.run)
    print(f"stopped: {' '.join(existing) or 'nothing'}")
    return 0


def shell_exports(exports: Mapping[str, str]) -> str:
    """Write variables as a shell reads them."""
    return "".join(f"export {key}={shlex.quote(value)}\n" for key, value in sorted(exports.items()))


def _stop_named(names: Collection[str], folders: PartFolders) -> None:
    stop((each for name, each in read_started(folders).items() if name in names), folders)


def _with_needs(choices: Collection[str]) -> dict[str, Part]:
    needs = {need for part in PARTS.values() if part.group in choices for need in part.needs}
    groups = {*choices, *(PARTS[need].group for need in needs)}
    return {name: part for name, part in PARTS.items() if part.group in groups}


def _healthy_parts(folders: PartFolders) -> dict[str, Started]:
    existing = read_started(folders)
    healthy: dict[str, Started] = {}
    for name, part in PARTS.items():
        started = existing.get(name)
        if (
            started
            and is_alive(started)
            and healthy.keys() >= {*part.needs}
            and part.healthy(folders, started)
        ):
            healthy[name] = started
    return healthy


def _start_all(parts: list[Part], remaining: Mapping[str, Started], folders: PartFolders) -> list[Row]:
    give_up = Event()
    futures: dict[str, Future[Started]] = {}
    seconds: dict[str, float] = {}

    def start_one(part: Part) -> Started:
        needs = {need: remaining.get(need) or futures[need].result() for need in part.needs}
        begin = time.monotonic()
        started = _start_part(part, needs, folders, give_up=give_up)
        seconds[part.name] = time.monotonic() - begin
        return started

    with ThreadPoolExecutor(max_workers=len(PARTS)) as pool:
        try:
            for part in parts:
                futures[part.name] = pool.submit(start_one, part)
            done, _ = wait(futures.values(), return_when=FIRST_EXCEPTION)
        finally:
            give_up.set()
    if failed := next((future for future in done if future.exception()), None):
        failed.result()  # the first failure; the others were only cancelled
    return [_row(future.result(), f"{seconds[name]:.1f} s") for name, future in futures.items()]


def _start_part(part: Part, needs: Mapping[str, Started], folders: PartFolders, *, give_up: Event) -> Started:
    try:
        started = start(part.name, part.launch(folders, needs), folders)
    except OSError as error:
        raise PartError(f"{part.name} cannot be started: {error}") from error
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not part.healthy(folders, started):
        if give_up.wait(0.2) or not is_alive(started) or time.monotonic() > deadline:
            end = "died" if not is_alive(started) else "did not become well"
            words = folders.log(part.name).read_text(errors="replace").splitlines()[-LAST_WORDS:]
            raise PartError("\n".join([f"{part.name} {end}; the end of {folders.log(part.name)}:", *words]))
    return started


def _write_addresses(folders: PartFolders) -> None:
    exports = {key: value for each in read_started(folders).values() for key, value in each.exports.items()}
    for name, text in (("parts.env", shell_exports(exports)), ("parts.json", json.dumps(exports, indent=2))):
        path = folders.run / name
        path.touch(mode=0o600)
        path.write_text(text)


def _problem(started: Started) -> str:
    return "not well" if is_alive(started) else "dead"


def _row(started: Started, note: str) -> Row:
    return (started.part, started.address, str(started.pid), note)


def _print_table(rows: list[Row]) -> None:
    for part, address, pid, note in [("part", "address", "pid", "how it is"), *rows]:
        print(f"{part:<16} {address:<26} {pid:>8}  {note}")
    print(f"the cluster runs as {USER if os.getuid() == 0 else f'you: only root can run it as {USER}'}")
