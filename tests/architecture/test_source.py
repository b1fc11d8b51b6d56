"""Rules of the house that can be read off the source."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUSE = Path(__file__).parents[2] / "src" / "penstock"
FILES = {path.relative_to(HOUSE).as_posix(): path for path in sorted(HOUSE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}

ACTIONS = {
    *("collect", "count", "first", "take", "head", "tail", "isEmpty", "show", "foreach", "foreachPartition"),
    *("toPandas", "toArrow", "toLocalIterator", "saveAsTable", "insertInto"),
}
WRITES = {
    *("save", "parquet", "json", "csv", "orc", "text", "jdbc"),
    *("create", "createOrReplace", "replace", "append", "overwritePartitions"),
}
ACTING = frozenset(("run.py", "adapter.py"))
ALSO_ACTING = {
    "cli/sparkcheck.py": "the doctor tries a whole write and read",
    "spark/cursor.py": "a cursor looks at its boundary in what was landed",
    "spark/landing.py": "a frame is written by the session that it belongs to",
    "spark/probe.py": "the doctor asks the executors",
}

FORBIDDEN = {"_jvm", "sparkContext", "_sc", "rdd", "DeltaTable", "pickle", "cloudpickle", "marshal", "shelve"}
MAY_SAY = {
    # Code that is sent to executors is packed in one place.
    "spark/shipping.py": {"cloudpickle"},
    # The jobs and stages of a classic session are asked for in one place, and may be missing.
    "spark/watch.py": {"sparkContext"},
}
FORBIDDEN_CALLS = frozenset(("eval", "exec"))
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:work|home|root|tmp|Users|mnt|opt|var|private)/\w")

LATE_IMPORTS = {"pipeline/stages.py"}
LONG = {"errors.py": "a table of facts"}


def knows_spark(tree: ast.Module) -> bool:
    """Whether pyspark is imported, at run time or for types only."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "pyspark" for name in names):
            return True
    return False


def receivers(node: ast.expr) -> Iterator[str]:
    """The names in `a.b(...).c`, from the right to the left."""
    match node:
        case ast.Attribute(value=value, attr=attribute):
            yield attribute
            yield from receivers(value)
        case ast.Call(func=function):
            yield from receivers(function)
        case ast.Name(id=name):
            yield name
        case _:
            pass


def actions(tree: ast.Module) -> list[str]:
    """Calls that start a Spark job, as `line: name`; `F.count` and its like only describe a column."""
    found: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, before = node.func.attr, list(receivers(node.func.value))
        if before[:1] in (["F"], ["functions"]):
            continue
        if name in ACTIONS or (name in WRITES and {"write", "writeTo"} & set(before)):
            found.append(f"{node.lineno}: {name}")
    return found


def forbidden(tree: ast.Module) -> list[str]:
    """Words that no file may use, wherever they stand in an expression or an import."""
    found: list[str] = []
    for node in ast.walk(tree):
        words: list[str] = []
        match node:
            case ast.Import(names=names):
                words = [alias.name.split(".")[0] for alias in names]
            case ast.ImportFrom(module=module, names=names):
                words = [*(module or "").split("."), *(alias.name for alias in names)]
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                found.append(f"{node.lineno}: {name}()")
            case ast.Call(func=ast.Attribute(value=ast.Name(id="yaml"), attr="load" | "unsafe_load")):
                found.append(f"{node.lineno}: yaml.load")
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
                words = [name]
            case _:
                pass
        found += [f"{getattr(node, 'lineno', 0)}: {word}" for word in words if word in FORBIDDEN]
    return found


def late_imports(tree: ast.Module) -> list[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return sorted(
        {
            f"{inner.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, functions)
            for inner in ast.walk(node)
            if isinstance(inner, (ast.Import, ast.ImportFrom))
        }
    )


def test_there_is_a_house_to_look_at() -> None:
    assert {"errors.py", "pipeline/stages.py", "normalize/run.py"} <= set(FILES)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("frame.collect()", ["collect"]),
        ("frame.select('a').distinct().count()", ["count"]),
        ("frame.write.mode('append').parquet(path)", ["parquet"]),
        ("frame.write.format('delta').save(path)", ["save"]),
        ("frame.writeTo('t').append()", ["append"]),
        ("spark.read.parquet(path)", []),
        ("frame.agg(F.count('a'), functions.first('b'))", []),
        ("rows.append(1)", []),
        ("folder.save(state=state)", []),
    ],
)
def test_an_action_is_known_when_it_is_seen(source: str, names: list[str]) -> None:
    assert [found.split(": ")[1] for found in actions(ast.parse(source))] == names


def test_spark_jobs_start_only_where_a_room_acts() -> None:
    acting = {name: actions(tree) for name, tree in TREES.items() if knows_spark(tree)}

    elsewhere = {
        name: found
        for name, found in acting.items()
        if found and Path(name).name not in ACTING and name not in ALSO_ACTING
    }
    assert elsewhere == {}


@pytest.mark.parametrize("name", ALSO_ACTING)
def test_no_exception_from_the_rule_of_actions_is_stale(name: str) -> None:
    assert knows_spark(TREES[name])
    assert actions(TREES[name])


@pytest.mark.parametrize(
    "source",
    [
        "spark._jvm.x()",
        "spark.sparkContext",
        "frame.rdd.map(f)",
        "import pickle",
        "from delta.tables import DeltaTable",
        "from pickle import loads",
        "eval(text)",
        "exec(text)",
        "import marshal, os",
        "yaml.load(text)",
        "getattr(spark, '_jvm')",
    ],
)
def test_a_forbidden_word_is_known_when_it_is_seen(source: str) -> None:
    assert len(forbidden(ast.parse(source))) == 1


@pytest.mark.parametrize("name", FILES)
def test_no_file_reaches_past_the_public_api_of_spark_or_runs_code_from_data(name: str) -> None:
    found = {said.split(": ")[1] for said in forbidden(TREES[name])}

    assert found == MAY_SAY.get(name, set())


@pytest.mark.parametrize("name", FILES)
def test_no_file_names_a_machines_path_or_a_forbidden_word(name: str) -> None:
    text = FILES[name].read_text(encoding="utf-8")

    assert MACHINE_PATH.findall(text) == []
    forbidden_here = FORBIDDEN - MAY_SAY.get(name, set())
    assert [word for word in forbidden_here if re.search(rf"(?<!\w){word}(?!\w)", text)] == []


def test_a_machines_path_is_known_when_it_is_seen() -> None:
    assert MACHINE_PATH.search('open("/home/ada/x")')
    assert not MACHINE_PATH.search("s3://bucket/home/x")


def test_imports_stand_at_the_top_of_the_file_but_for_one() -> None:
    late = {name for name, tree in TREES.items() if late_imports(tree)}

    assert late == LATE_IMPORTS


def test_no_file_is_long_but_tables_of_facts() -> None:
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}

    assert {name for name, length in lengths.items() if length > 400} - set(LONG) == set()


@pytest.mark.parametrize("room", [path.parent.name for path in sorted(HOUSE.glob("*/__init__.py"))])
def test_every_room_has_a_sign_on_its_door(room: str) -> None:
    sign = (ast.get_docstring(TREES[f"{room}/__init__.py"]) or "").splitlines()

    assert sign[0].endswith(".")
    assert sign[1] == ""
    fields = [line.split(":")[0] for line in sign[2:] if not line.startswith(" ")]
    assert fields == ["Takes", "Gives", "Touches"]
    assert all(re.match(r"(\w+:) +\S.*\S$|  +\S", line) for line in sign[2:])


@pytest.mark.parametrize("name", FILES)
def test_every_module_begins_by_saying_what_it_is(name: str) -> None:
    assert ast.get_docstring(TREES[name])
