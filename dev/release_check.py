"""Builds the distributions, checks their content, and tries the wheel with each extra: `make release-check`.

Each extra is installed into a new environment, and a short program shows that it works. No Spark starts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TYPED_PROGRAM: Final = ROOT / "dev" / "release" / "typed_program.py"
SDIST_ENTRIES: Final = frozenset(
    (".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "src")
)
"""The first parts of the paths in the source distribution; hatchling adds `.gitignore` and `PKG-INFO`."""
_EXTRACT: Final = """
import penstock
pipeline = penstock.pipeline("smoke", "pipelines", progress={progress!r})
info = pipeline.extract([{{"id": 1, "at": {value}}}, {{"id": 2, "at": {value}}}], table_name="rows")
assert len(info.loads_ids) == 1, info
"""
SMOKE_PROGRAMS: Final[dict[str, str]] = {
    "": _EXTRACT.format(progress="none", value="'now'"),
    "rich": _EXTRACT.format(progress="rich", value="'now'"),
    "tqdm": _EXTRACT.format(progress="tqdm", value="'now'"),
    "pendulum": "import pendulum" + _EXTRACT.format(progress="none", value="pendulum.now()"),
    "spark": "import penstock, pyspark.sql; penstock.destinations.delta(bucket_url='lake')",
    "connect": "import penstock, pyspark.sql.connect.session",
    "iceberg": "import penstock, pyspark.sql; penstock.destinations.iceberg(bucket_url='lake')",
    "duckdb": """
        import penstock
        pipeline = penstock.pipeline("smoke", destination="duckdb", pipelines_dir="pipelines")
        pipeline.run([{"id": 1}], table_name="rows")
        assert pipeline.dataset()["rows"].count() == 1
    """,
    "s3": """
        from penstock.package import FileStorage
        assert type(FileStorage("s3://bucket/folder").file_system).__name__ == "S3FileSystem"
    """,
    "postgres": "import penstock, psycopg",
    "rest": """
        import http.server, threading
        from penstock.sources.rest import RESTClient

        class Rows(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b'[{"id": 1}]')

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Rows) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            client = RESTClient(f"http://127.0.0.1:{server.server_port}")
            assert client.get("/rows").json() == [{"id": 1}]
            server.shutdown()
    """,
    "jwt": """
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa
        from penstock.sources.rest.auth import OAuthJWTAuth

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        OAuthJWTAuth(client_id="me", private_key=pem, auth_endpoint="https://localhost/token", scopes=["all"])
    """,
    "delta": """
        import penstock
        lake = penstock.destinations.delta(bucket_url="lake")
        pipeline = penstock.pipeline("smoke", "pipelines", destination=lake, progress="none")
        pipeline.run([{"id": 1, "items": [1, 2]}], table_name="orders")
        assert pipeline.dataset().row_counts() == {"orders": 1, "orders__items": 2}
    """,
    "cli": "",
}
"""A program for each extra, and one for an installation without extras; the commands follow below."""
SMOKE_COMMANDS: Final[dict[str, tuple[str, ...]]] = {"cli": ("--version", "destinations")}
"""Commands for the environment of an extra."""


class ReleaseCheckFailed(Exception):
    """A distribution is not fit for a release."""


def main() -> int:
    """Run all checks, print each with its seconds; return 1 after the first failure."""
    start, name = time.monotonic(), "build"
    with TemporaryDirectory(prefix="penstock-release-") as folder:
        try:
            for name, check in checks(Path(folder)):
                begin = time.monotonic()
                check()
                print(f"ok   {name:<28} {time.monotonic() - begin:6.1f} s", flush=True)
        except ReleaseCheckFailed as error:
            print(f"FAIL {name}: {error}", file=sys.stderr)
            return 1
    print(f"The distributions of penstock {PROJECT['version']} are ready: {time.monotonic() - start:.0f} s.")
    return 0


def checks(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the checks in their order, each with its name; the first builds what the others take."""
    built = folder / "dist"
    yield "build", partial(run, ["uv", "build", "--quiet", "--out-dir", str(built)])
    wheel, sdist = _only_file(built, "*.whl"), _only_file(built, "*.tar.gz")
    yield "metadata", partial(run, ["uvx", "--quiet", "twine", "check", "--strict", str(wheel), str(sdist)])
    yield "content of the sdist", partial(check_sdist, sdist)
    yield "content of the wheel", partial(check_wheel, wheel)
    extras = PROJECT["optional-dependencies"]
    if differing := set(SMOKE_PROGRAMS) ^ {"", *extras}:
        raise ReleaseCheckFailed(f"SMOKE_PROGRAMS and the extras differ: {sorted(differing)}")
    for extra in ("", *extras):
        yield f"extra {extra}" if extra else "no extra", partial(try_extra, folder, wheel, extra)
    yield "demo with delta and cli", partial(try_demo, folder, wheel)
    yield "types of a user's program", partial(check_types, folder, wheel)


def check_sdist(sdist: Path) -> None:
    """Raise unless the source distribution has the package, its license, and nothing else."""
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    entries = {name.partition("/")[0] for name in names}
    if entries != SDIST_ENTRIES:
        raise ReleaseCheckFailed(f"unexpected or missing: {sorted(entries ^ SDIST_ENTRIES)}")
    _refuse_files_of_tools(names)


def check_wheel(wheel: Path) -> None:
    """Raise unless the wheel has only the package with its types, and metadata with license and version."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        information = f"penstock-{PROJECT['version']}.dist-info"
        entries = {name.partition("/")[0] for name in names}
        if entries != {"penstock", information}:
            raise ReleaseCheckFailed(f"the wheel contains {sorted(entries)}")
        required = {
            "penstock/py.typed",
            *(f"{information}/{name}" for name in ("licenses/LICENSE", "entry_points.txt", "METADATA")),
        }
        if missing := required - set(names):
            raise ReleaseCheckFailed(f"the wheel lacks {sorted(missing)}")
        metadata = archive.read(f"{information}/METADATA").decode()
    _refuse_files_of_tools(names)
    if f"\nVersion: {PROJECT['version']}\n" not in metadata:
        raise ReleaseCheckFailed("the version in the metadata is not that of pyproject.toml")


def try_extra(folder: Path, wheel: Path, extra: str) -> None:
    """Install the wheel with an extra into a new environment; run the program and commands of the extra."""
    environment = _new_environment(
        folder, f"extra-{extra or 'none'}", f"{wheel}[{extra}]" if extra else str(wheel)
    )
    work = environment / "work"
    work.mkdir()
    program = work / "smoke.py"
    program.write_text(_dedented(SMOKE_PROGRAMS[extra]), encoding="utf-8")
    version = run(
        [str(environment / "bin/python"), "-c", "import penstock; print(penstock.__version__)"], work
    )
    if version.strip() != PROJECT["version"]:
        raise ReleaseCheckFailed(f"penstock.__version__ is {version.strip()}")
    run([str(environment / "bin/python"), str(program)], work)
    for command in SMOKE_COMMANDS.get(extra, ()):
        run([str(environment / "bin/penstock"), command], work)
    if not extra:
        message = run([str(environment / "bin/penstock"), "--version"], work, exit_code=1)
        if "penstock[cli]" not in message:
            raise ReleaseCheckFailed(f"the command without its extra reports: {message}")


def try_demo(folder: Path, wheel: Path) -> None:
    """Run `penstock demo` as the first page of the documentation says."""
    environment = _new_environment(folder, "demo", f"{wheel}[delta,cli]")
    output = run([str(environment / "bin/penstock"), "demo"], environment)
    if "exactly once" not in output:
        raise ReleaseCheckFailed("the output of the demo is incomplete")


def check_types(folder: Path, wheel: Path) -> None:
    """Check the types of a program that uses the installed package, as strictly as mypy can."""
    environment = _new_environment(folder, "types", f"{wheel}[delta]", "mypy")
    program = environment / TYPED_PROGRAM.name
    program.write_text(TYPED_PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
    python = str(environment / "bin/python")
    run([python, "-m", "mypy", "--strict", "--no-incremental", str(program)], environment)
    # A misspelled argument must be an error: without types the first check would pass too.
    program.write_text("import penstock\npenstock.pipeline(1, pipeline=2)\n", encoding="utf-8")
    run([python, "-m", "mypy", "--strict", "--no-incremental", str(program)], environment, exit_code=1)


def run(command: list[str], folder: Path = ROOT, *, exit_code: int = 0) -> str:
    """Run a program without the sources of this checkout; return its output, raise on another exit code."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["JAVA_HOME"] = "/nonexistent"
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if done.returncode != exit_code:
        raise ReleaseCheckFailed(f"{' '.join(command)} ended with {done.returncode}\n{output.strip()}")
    return output


def _new_environment(folder: Path, name: str, *requirements: str) -> Path:
    environment = folder / name
    run(["uv", "venv", "--quiet", "--python", sys.executable, str(environment)])
    python = str(environment / "bin/python")
    run(["uv", "pip", "install", "--quiet", "--python", python, *requirements])
    return environment


def _only_file(folder: Path, pattern: str) -> Path:
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise ReleaseCheckFailed(f"{pattern} in {folder}: {len(files)} files")
    return files[0]


def _refuse_files_of_tools(names: list[str]) -> None:
    unwanted = [
        name for name in names if re.search(r"(^|/)(tests?|__pycache__)/|\.pyc$|(^|/)test_\w+\.py$", name)
    ]
    if unwanted:
        raise ReleaseCheckFailed(f"files of tests or tools: {unwanted[:5]}")


def _dedented(program: str) -> str:
    """Return the lines of a program without the indentation of this module."""
    return re.sub(r"^ {8}", "", program, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
