"""Up, status and down: parts in order, side by side where nothing binds them."""

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
from dev.parts.places import PartError, Places, make_run_folders
from dev.parts.processes import Part, Started, is_alive, read_started, start, stop
from dev.parts.stranger import USER

_PARTS: Final = (*spark.PARTS, *postgres.PARTS, *mariadb.PARTS, *s3.PARTS, *toxiproxy.PARTS)
PARTS: Final = {part.name: part for part in _PARTS}
"""Every part comes after those that it needs."""
CHOICES: Final = tuple(dict.fromkeys(part.group for part in PARTS.values()))
USUAL: Final = tuple(group for group in CHOICES if group != "mariadb")
"""What is started when nothing is asked for by name."""
PATIENCE_SECONDS: Final = 180.0
LAST_WORDS: Final = 20

Row = tuple[str, str, str, str]


def up(places: Places, choices: Collection[str]) -> int:
    """Start parts and what they need; those that run and are well are left alone."""
    places.cache.mkdir(parents=True, exist_ok=True)
    make_run_folders(places)
    kept, chosen = _well(places), _with_needs(choices)
    missing = {name: part for name, part in chosen.items() if name not in kept}
    orphans = {name for name, part in PARTS.items() if missing.keys() & part.needs}
    _stop_named(missing.keys() | orphans, places)  # what is left of those that died, and what hung on them
    rows = [_row(each, "already runs") for name, each in kept.items() if name in chosen]
    try:
        rows += _start_all(list(missing.values()), kept, places)
    except BaseException:
        _stop_named(missing.keys(), places)
        raise
    _write_addresses(places)
    _print_table(rows)
    print(f"addresses: {places.run / 'parts.env'}")
    return 0


def status(places: Places) -> int:
    """Say how each part is; the exit code is 0 when parts run and all are well."""
    well, known = _well(places), read_started(places)
    _print_table([_row(each, "well" if name in well else _trouble(each)) for name, each in known.items()])
    return 0 if known and len(well) == len(known) else 1


def down(places: Places) -> int:
    """Stop every part and remove the run folder; dead parts leave nothing behind either."""
    if not places.records.exists():
        print("nothing runs")
        return 0
    known = read_started(places)
    stop(known.values(), places)
    shutil.rmtree(places.run)
    print(f"stopped: {' '.join(known) or 'nothing'}")
    return 0


def shell_exports(exports: Mapping[str, str]) -> str:
    """Write variables as a shell reads them."""
    return "".join(f"export {key}={shlex.quote(value)}\n" for key, value in sorted(exports.items()))


def _stop_named(names: Collection[str], places: Places) -> None:
    stop((each for name, each in read_started(places).items() if name in names), places)


def _with_needs(choices: Collection[str]) -> dict[str, Part]:
    needs = {need for part in PARTS.values() if part.group in choices for need in part.needs}
    groups = {*choices, *(PARTS[need].group for need in needs)}
    return {name: part for name, part in PARTS.items() if part.group in groups}


def _well(places: Places) -> dict[str, Started]:
    known = read_started(places)
    well: dict[str, Started] = {}
    for name, part in PARTS.items():
        started = known.get(name)
        if started and is_alive(started) and well.keys() >= {*part.needs} and part.healthy(places, started):
            well[name] = started
    return well


def _start_all(parts: list[Part], kept: Mapping[str, Started], places: Places) -> list[Row]:
    give_up = Event()
    futures: dict[str, Future[Started]] = {}
    seconds: dict[str, float] = {}

    def start_one(part: Part) -> Started:
        needs = {need: kept.get(need) or futures[need].result() for need in part.needs}
        begin = time.monotonic()
        started = _start_part(part, needs, places, give_up=give_up)
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
        failed.result()  # the first to fail; the others only gave up
    return [_row(future.result(), f"{seconds[name]:.1f} s") for name, future in futures.items()]


def _start_part(part: Part, needs: Mapping[str, Started], places: Places, *, give_up: Event) -> Started:
    try:
        started = start(part.name, part.launch(places, needs), places)
    except OSError as error:
        raise PartError(f"{part.name} cannot be started: {error}") from error
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not part.healthy(places, started):
        if give_up.wait(0.2) or not is_alive(started) or time.monotonic() > deadline:
            end = "died" if not is_alive(started) else "did not become well"
            words = places.log(part.name).read_text(errors="replace").splitlines()[-LAST_WORDS:]
            raise PartError("\n".join([f"{part.name} {end}; the end of {places.log(part.name)}:", *words]))
    return started


def _write_addresses(places: Places) -> None:
    exports = {key: value for each in read_started(places).values() for key, value in each.exports.items()}
    for name, text in (("parts.env", shell_exports(exports)), ("parts.json", json.dumps(exports, indent=2))):
        path = places.run / name
        path.touch(mode=0o600)
        path.write_text(text)


def _trouble(started: Started) -> str:
    return "not well" if is_alive(started) else "dead"


def _row(started: Started, note: str) -> Row:
    return (started.part, started.address, str(started.pid), note)


def _print_table(rows: list[Row]) -> None:
    for part, address, pid, note in [("part", "address", "pid", "how it is"), *rows]:
        print(f"{part:<16} {address:<26} {pid:>8}  {note}")
    print(f"the cluster runs as {USER if os.getuid() == 0 else f'you: only root can run it as {USER}'}")
