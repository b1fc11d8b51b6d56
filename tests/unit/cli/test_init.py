"""`penstock init`: the files of a project, and that it runs and passes its test, without Spark."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command_documents import read_documents
from tests.restapi import Api
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.cli.load_plan import LoadOptions
from penstock.cli.project import ProjectPlan, plan_project
from penstock.errors import UsageError

if TYPE_CHECKING:
    from typer.testing import Result

SECRET = "lovelace-1843"
COMMAND = [sys.executable, "-c", "from penstock.cli import main; main()"]

pytestmark = pytest.mark.usefixtures("disk")


def plan(source: str, destination: str = "./lake", folder: Path | None = None, **options: Any) -> ProjectPlan:
    return plan_project(source, destination, LoadOptions(**options), folder=folder)


def init(*words: str) -> Result:
    return CliRunner().invoke(app, ["init", *words])


def run_in(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=dict(os.environ), timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("source", ["python", "rest"])
def test_a_new_project_loads_rows_and_passes_its_test(source: str, disk: Path) -> None:
    with Api() as api:
        words = ["python"] if source == "python" else [f"{api.url}/relative"]
        assert init(*words, "--name", "shop").exit_code == 0

        run_in(Path("shop"), [*COMMAND, "run", "shop.py"])
        tested = run_in(Path("shop"), [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"])

    counts = penstock.attach("shop", pipelines_dir=disk).dataset().row_counts()
    assert counts == ({"people": 2, "people__languages": 3} if source == "python" else {"relative": 25})
    assert "1 passed" in tested.stdout


def test_the_files_of_a_project_are_listed() -> None:
    assert_output("init", init("python").stdout)
    (document,) = read_documents("init", init("python", "--json").stdout)

    assert document["program"] == "people_to_lake.py"
    assert sorted(document["files"]) == sorted(
        path.relative_to("people_to_lake").as_posix()
        for path in Path("people_to_lake").rglob("*")
        if path.is_file()
    )
    assert document["written"] == []


def test_secrets_are_in_their_file_only_and_not_in_version_control() -> None:
    done = init(f"https://ada:{SECRET}@api.example.com/items", "--name", "shop")

    files = {path: path.read_text(encoding="utf-8") for path in Path("shop").rglob("*") if path.is_file()}
    (secrets_file,) = (path for path, text in files.items() if SECRET in text)
    assert secrets_file == Path("shop/.penstock/secrets.toml")
    assert secrets_file.stat().st_mode & 0o777 == 0o600
    assert tomllib.loads(files[secrets_file]) == {
        "sources": {"shop": {"username": "ada", "password": SECRET}}
    }
    assert "secrets.toml" in files[Path("shop/.gitignore")].splitlines()
    assert "SOURCES__SHOP__PASSWORD" in files[Path("shop/README.md")]
    assert SECRET not in done.output


def test_a_location_with_a_password_is_a_secret() -> None:
    files = plan("python", f"s3://key:{SECRET}@lake/raw").files

    assert [path for path, text in files.items() if SECRET in text] == [".penstock/secrets.toml"]


def test_files_are_found_from_the_folder_of_the_project() -> None:
    project = plan("data/*.csv", folder=Path("projects/shop"), table="orders")

    assert (
        'orders = files("../../data", file_glob="*.csv", name="orders")'
        in project.files[f"{project.name}.py"]
    )
    assert '"penstock[cli,delta,spark]"' in project.files["pyproject.toml"]


@pytest.mark.parametrize("destination", ["files:./out", "iceberg:./lake", "/abs/lake"])
def test_the_location_is_a_setting_of_its_destination(destination: str) -> None:
    project = plan("postgresql://reader@db/shop", destination, table="orders")

    settings = tomllib.loads(project.files[".penstock/config.toml"])
    (factory,) = settings["destination"]
    assert settings["destination"][factory] == {"bucket_url": destination.rpartition(":")[2]}
    assert f"penstock.destinations.{factory}()" in project.files[f"{project.name}.py"]
    assert ("/lake/" in project.files[".gitignore"].split()) == (destination == "iceberg:./lake")


def test_the_file_of_a_database_is_a_setting_and_not_in_version_control() -> None:
    project = plan("python", "duckdb:///shop.duckdb")

    settings = tomllib.loads(project.files[".penstock/config.toml"])
    assert settings == {"destination": {"duckdb": {"credentials": "shop.duckdb"}}}
    assert "*.duckdb" in project.files[".gitignore"].split()
    assert '"penstock[cli,duckdb]"' in project.files["pyproject.toml"]


def test_a_project_into_duckdb_needs_no_location_and_passes_its_test(disk: Path) -> None:
    assert init("python", "duckdb", "--name", "shop").exit_code == 0

    tested = run_in(Path("shop"), [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"])

    assert "1 passed" in tested.stdout


def test_the_test_of_a_project_into_postgres_needs_a_database_for_tests() -> None:
    project = plan("python", f"postgresql://ada:{SECRET}@db/shop")

    secrets = tomllib.loads(project.files[".penstock/secrets.toml"])
    assert secrets["destination"]["postgres"]["credentials"] == f"postgresql://ada:{SECRET}@db/shop"
    assert 'skipif("TEST_DATABASE_URL" not in os.environ' in project.files[f"test_{project.name}.py"]
    assert '"psycopg[binary]"' in project.files["pyproject.toml"]


@pytest.mark.parametrize(("confirmation", "code", "is_kept"), [((), 2, True), (("--yes",), 0, False)])
def test_a_changed_file_is_overwritten_only_when_confirmed(
    confirmation: tuple[str, ...], code: int, is_kept: bool
) -> None:
    init("python", "--name", "shop")
    readme = Path("shop/README.md")
    readme.write_text("mine", encoding="utf-8")

    done = init("python", "--name", "shop", *confirmation)

    assert done.exit_code == code
    assert "shop/README.md is overwritten." in done.stderr
    assert "shop.py" not in done.stderr
    assert (readme.read_text(encoding="utf-8") == "mine") == is_kept


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pyton",), "did you mean 'python'?"),
        (("rest",), "penstock init https://api.example.com/items ./lake"),
        (("python", "icberg:lake"), "did you mean 'iceberg'?"),
        (("python", "--name", "json"), "'json' cannot be the name of the program"),
        (("postgresql://db/shop",), "--table"),
    ],
)
def test_an_error_names_the_remedy(words: tuple[str, ...], message: str) -> None:
    error = init(*words).exception

    assert isinstance(error, UsageError)
    assert message in str(error)


@given(st.text(), st.text(min_size=1))
def test_any_name_and_any_secret_is_quoted(table: str, secret: str) -> None:
    project = plan(f"https://api.example.com/items?api_key={secret.encode().hex()}", table=table or None)

    ast.parse(project.files[f"{project.name}.py"])
    ast.parse(project.files[f"test_{project.name}.py"])
    secrets = tomllib.loads(project.files[".penstock/secrets.toml"])
    assert secrets["sources"][project.name]["api_key"] == secret.encode().hex()
