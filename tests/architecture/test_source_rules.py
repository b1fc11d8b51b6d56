"""Rules of the architecture that can be checked on the syntax of the source files.

Each rule is one test, which lists all offenders. The tests of a rule on toy sources show what it recognizes.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.architecture.source_tree import MACHINE_PATH, PACKAGE, line_at, source_files
from tests.rule_assertions import assert_no_offenders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    "destinations/lake/change_counts.py": "the changes of a planned load are counted",
    "destinations/lake/existing_tables.py": "the last rows of an existing table are read",
    "normalize/check_counts.py": "rows that fail checks are counted",
    "normalize/frames.py": "the rows of files that pass through are counted",
    "normalize/rows.py": "unexpected rows are profiled by the driver",
    "normalize/table_parts.py": "nested datasets are written and their rows counted",
    "pipeline/quarantine_reader.py": "quarantined rows are counted, and few of them read by the driver",
    "spark/cursor.py": "a cursor looks at its boundary in what was landed",
    "spark/frame_writer.py": "a frame is written by the session that it belongs to",
    "spark/probe.py": "the doctor asks the executors",
}

FORBIDDEN = {"_jvm", "sparkContext", "_sc", "rdd", "DeltaTable", "pickle", "cloudpickle", "marshal", "shelve"}
FORBIDDEN_WORD = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(FORBIDDEN))})(?!\w)")
ALLOWED_WORDS = {
    # The program that the command prints is the one that it runs: literals and calls of this package.
    "cli/load.py": {"exec()"},
    # Code that is sent to executors is packed in one place.
    "spark/serialization.py": {"cloudpickle"},
    # The jobs and stages of a classic session are read in one place, and may be missing.
    "spark/watch.py": {"sparkContext"},
    # The library deltalake has a class of this name; Spark's is not used.
    "destinations/delta/delta_log.py": {"DeltaTable"},
    # Iceberg's own library commits without a Spark job; over Connect there is none.
    "spark/iceberg_library.py": {"_jvm"},
    # No public name shows whether a classic session was stopped.
    "spark/session.py": {"sparkContext"},
    # The class of the library deltalake, not that of delta-spark.
    "destinations/delta/native_tables.py": {"DeltaTable"},
}
FORBIDDEN_CALLS = frozenset(("eval", "exec"))

LATE_IMPORTS = {
    "cli/conns.py",
    "cli/load_plan.py",  # all other commands work without the extra of Spark
    "pipeline/late_imports.py",
    "destinations/delta/file_commit.py",
    "destinations/functions/reference.py",
    "destinations/postgres/reference.py",
    "sources/mark.py",
}
LONG = {"errors.py": "a table of facts", "pipeline/pipeline.py": "one public class"}
MOST_LINES = 500

Finding = tuple[int, str]
"""A line and the name that the rule recognized on it."""


def imports_spark(nodes: Iterable[ast.AST]) -> bool:
    """Return whether pyspark is imported, at run time or for types only."""
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "pyspark" for name in names):
            return True
    return False


def receivers(node: ast.expr) -> Iterator[str]:
    """Yield the names in `a.b(...).c`, from the right to the left."""
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


def actions(nodes: Iterable[ast.AST]) -> Iterator[Finding]:
    """Yield the calls that start a Spark job; `F.count` and its like only describe a column."""
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        if name not in ACTIONS and name not in WRITES:
            continue
        before = list(receivers(node.func.value))
        if before[:1] in (["F"], ["functions"]):
            continue
        if name in ACTIONS or {"write", "writeTo"} & set(before):
            yield node.lineno, name


def forbidden(nodes: Iterable[ast.AST]) -> Iterator[Finding]:
    """Yield the words that no file may use, wherever they occur in an expression or an import."""
    for node in nodes:
        words: list[str] = []
        match node:
            case ast.Import(names=names):
                words = [alias.name.split(".")[0] for alias in names]
            case ast.ImportFrom(module=module, names=names):
                words = [*(module or "").split("."), *(alias.name for alias in names)]
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                yield node.lineno, f"{name}()"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="yaml"), attr="load" | "unsafe_load")):
                yield node.lineno, "yaml.load"
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
                words = [name]
            case _:
                pass
        yield from ((getattr(node, "lineno", 0), word) for word in words if word in FORBIDDEN)


def late_imports(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield the lines of imports within a function."""
    nodes = list(nodes)
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and any(
            _start(function) < _start(node) < _end(function) for function in functions
        ):
            yield node.lineno


def _start(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def docstring_faults(docstring: str) -> Iterator[str]:
    """Yield what a package's docstring lacks: a summary, a blank line, then Input, Output and Imports."""
    summary, *rest = docstring.splitlines() or [""]
    if not summary.endswith("."):
        yield "the first line must be a sentence that ends with a full stop"
    if rest[:1] != [""]:
        yield "the second line must be blank"
    fields = rest[1:]
    if [line.split(":")[0] for line in fields if not line.startswith(" ")] != ["Input", "Output", "Imports"]:
        yield "the fields must be Input, Output and Imports, in this order"
    for line in fields:
        if not re.match(r"(\w+:) +\S.*\S$|  +\S", line):
            yield f"neither `Field: text` nor an indented continuation: {line!r}"


def test_the_rules_see_the_source_files() -> None:
    assert {"errors.py", "pipeline/late_imports.py", "normalize/run.py"} <= set(source_files())


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
def test_calls_that_start_a_spark_job_are_recognized(source: str, names: list[str]) -> None:
    assert [name for _, name in actions(ast.walk(ast.parse(source)))] == names


def test_spark_jobs_start_only_in_acting_modules() -> None:
    assert_no_offenders(
        (
            f"{file.at(line)}: {action}"
            for name, file in source_files().items()
            if Path(name).name not in ACTING and name not in ALSO_ACTING and imports_spark(file.nodes)
            for line, action in actions(file.nodes)
        ),
        f"move the Spark action to {' or '.join(sorted(ACTING))}, or list the file in ALSO_ACTING",
    )


def test_modules_excepted_from_the_rule_of_spark_actions_start_spark_jobs() -> None:
    files = source_files()

    assert_no_offenders(
        (
            name
            for name in ALSO_ACTING
            if name not in files
            or not imports_spark(files[name].nodes)
            or not any(actions(files[name].nodes))
        ),
        "remove the stale exception from ALSO_ACTING",
    )


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
def test_a_forbidden_word_is_recognized(source: str) -> None:
    assert len(list(forbidden(ast.walk(ast.parse(source))))) == 1


def test_no_file_uses_private_spark_apis_or_runs_code_from_data() -> None:
    offenders: list[str] = []
    for name, file in source_files().items():
        allowed = ALLOWED_WORDS.get(name, set())
        findings = list(forbidden(file.nodes))
        offenders += [f"{file.at(line)}: {word}" for line, word in findings if word not in allowed]
        unused = allowed - {word for _, word in findings}
        offenders += [f"{file.at(1)}: {word} is excepted and not used" for word in sorted(unused)]

    assert_no_offenders(
        offenders, "use the DataFrame and SQL API and no serialized code; remove exceptions that are not used"
    )


def test_every_exception_for_a_forbidden_word_names_a_file() -> None:
    assert_no_offenders(
        sorted(set(ALLOWED_WORDS) - set(source_files())), "remove the stale exception from ALLOWED_WORDS"
    )


def test_no_text_of_a_file_contains_a_forbidden_word() -> None:
    assert_no_offenders(
        (
            f"{file.at(line_at(file.text, match.start()))}: {match[0]}"
            for name, file in source_files().items()
            for match in FORBIDDEN_WORD.finditer(file.text)
            if match[0] not in ALLOWED_WORDS.get(name, set())
        ),
        "remove the word, from comments and docstrings too",
    )


def test_no_file_contains_a_path_of_a_machine() -> None:
    assert_no_offenders(
        (
            f"{file.at(line_at(file.text, match.start()))}: {match[0]}"
            for file in source_files().values()
            for match in MACHINE_PATH.finditer(file.text)
        ),
        "take the path from a setting or an argument",
    )


def test_a_path_of_a_machine_is_recognized() -> None:
    assert MACHINE_PATH.search('open("/home/ada/x")')
    assert not MACHINE_PATH.search("s3://bucket/home/x")


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import os\ndef f():\n    import re\n", [3]),
        ("class A:\n    async def f(self):\n        if a:\n            from b import c\n", [4]),
        ("def f(): import re", [1]),
        ("if TYPE_CHECKING:\n    import os\ndef f():\n    pass\nimport re\n", []),
    ],
)
def test_imports_within_a_function_are_recognized(source: str, lines: list[int]) -> None:
    assert list(late_imports(ast.walk(ast.parse(source)))) == lines


def test_imports_are_at_the_top_of_the_file() -> None:
    assert_no_offenders(
        (
            file.at(line)
            for name, file in source_files().items()
            if name not in LATE_IMPORTS
            for line in late_imports(file.nodes)
        ),
        "move the import to the top of the file",
    )


def test_files_excepted_from_imports_at_the_top_have_late_imports() -> None:
    files = source_files()

    assert_no_offenders(
        (name for name in LATE_IMPORTS if name not in files or not any(late_imports(files[name].nodes))),
        "remove the stale exception from LATE_IMPORTS",
    )


def test_no_file_is_long_except_tables_of_facts() -> None:
    lengths = {name: len(file.text.splitlines()) for name, file in source_files().items() if name not in LONG}

    assert_no_offenders(
        (
            f"{source_files()[name].at(MOST_LINES + 1)}: {length} lines"
            for name, length in lengths.items()
            if length > MOST_LINES
        ),
        f"split the file by meaning: at most {MOST_LINES} lines",
    )


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        "A summary.",
        "A summary\n\nInput: a\nOutput: b\nImports: c",
        "A summary.\nInput: a\nOutput: b\nImports: c",
        "A summary.\n\nInput: a\nImports: c",
        "A summary.\n\nInput: a\nOutput:\nImports: c",
        "A summary.\n\nInput: a\n more\nOutput: b\nImports: c",
    ],
)
def test_an_incomplete_docstring_of_a_package_is_recognized(docstring: str) -> None:
    assert list(docstring_faults(docstring))


def test_every_package_documents_its_input_output_and_imports() -> None:
    packages = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.glob("*/__init__.py"))]

    assert packages
    assert_no_offenders(
        (
            f"{source_files()[package].at(1)}: {fault}"
            for package in packages
            for fault in docstring_faults(ast.get_docstring(source_files()[package].tree) or "")
        ),
        "complete the docstring of the package",
    )


def test_every_module_begins_with_a_docstring() -> None:
    assert_no_offenders(
        (file.at(1) for file in source_files().values() if not ast.get_docstring(file.tree)),
        "begin the module with a docstring that says what it is",
    )
