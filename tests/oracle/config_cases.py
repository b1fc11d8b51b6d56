"""The lookup order of settings, place by place, and other cases for both tools."""

from __future__ import annotations

from dataclasses import dataclass

ENVIRONMENT, SECRETS, CONFIG = "environment", "secrets.toml", "config.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The places of one value in lookup order: the first place that is set wins.

    `kind` is the way of the lookup, `where` its owner: the section and name of a source, or the name
    of a destination. `field` may lead into credentials.
    """

    name: str
    kind: str
    where: tuple[str, ...]
    field: str
    pipeline: str | None
    places: tuple[tuple[str, str], ...]

    def values(self, start: int = 0) -> list[list[str]]:
        """Return provider, key and value of the places from `start` on. The value names the place."""
        return [[provider, key, self._value(f"p{at}")] for at, (provider, key) in enumerate(self.places)][
            start:
        ]

    def _value(self, name: str) -> str:
        one_text = {"login": "u:{}", "credentials": "postgresql://u:{}@h:5432/d", "bucket_url": "memory://{}"}
        return one_text.get(self.field, "{}").format(name)

    @property
    def also(self) -> dict[str, str]:
        """Return other settings that make the spec complete."""
        match self.field.split("."):
            case ["login", *_]:
                return {"LOGIN__USER": "u"}
            case ["credentials", field]:
                rest = {"DATABASE": "d", "USERNAME": "u", "PASSWORD": "p", "HOST": "h"}
                return {
                    f"CREDENTIALS__{name}": value for name, value in rest.items() if name != field.upper()
                }
            case _:
                return {}

    def question(self) -> dict[str, object]:
        """Return the order as data for the bridge."""
        return {
            "kind": self.kind,
            "where": self.where,
            "field": self.field,
            "pipeline": self.pipeline,
            "places": self.values(),
            "also": self.also,
        }


def _places(table: str) -> tuple[tuple[str, str], ...]:
    return tuple((line.split()[0], line.split()[1]) for line in table.strip().splitlines())


ORDERS = (
    Order(
        name="a source",
        kind="source",
        where=("ghsec", "gh"),
        field="org",
        pipeline=None,
        places=_places("""
            environment   SOURCES__GHSEC__GH__ORG
            environment   SOURCES__GHSEC__ORG
            environment   SOURCES__GH__ORG
            environment   SOURCES__ORG
            environment   ORG
            secrets.toml  sources.ghsec.gh.org
            secrets.toml  sources.ghsec.org
            secrets.toml  sources.gh.org
            secrets.toml  sources.org
            secrets.toml  org
            config.toml   sources.ghsec.gh.org
            config.toml   sources.ghsec.org
            config.toml   sources.gh.org
            config.toml   sources.org
            config.toml   org
        """),
    ),
    Order(
        name="a source with a pipeline",
        kind="source",
        where=("ghsec", "gh"),
        field="org",
        pipeline="pp",
        places=_places("""
            environment   PP__SOURCES__GHSEC__GH__ORG
            environment   PP__SOURCES__GHSEC__ORG
            environment   PP__SOURCES__GH__ORG
            environment   PP__SOURCES__ORG
            environment   PP__ORG
            secrets.toml  pp.sources.ghsec.gh.org
            secrets.toml  pp.sources.ghsec.org
            secrets.toml  pp.sources.gh.org
            secrets.toml  pp.sources.org
            secrets.toml  pp.org
            config.toml   pp.sources.ghsec.gh.org
            config.toml   pp.sources.ghsec.org
            config.toml   pp.sources.gh.org
            config.toml   pp.sources.org
            config.toml   pp.org
            environment   SOURCES__GHSEC__GH__ORG
            environment   SOURCES__GHSEC__ORG
            environment   SOURCES__GH__ORG
            environment   SOURCES__ORG
            environment   ORG
            secrets.toml  sources.ghsec.gh.org
            secrets.toml  sources.ghsec.org
            secrets.toml  sources.gh.org
            secrets.toml  sources.org
            secrets.toml  org
            config.toml   sources.ghsec.gh.org
            config.toml   sources.ghsec.org
            config.toml   sources.gh.org
            config.toml   sources.org
            config.toml   org
        """),
    ),
    Order(
        name="a secret of a source with a pipeline",
        kind="source",
        where=("ghsec", "gh"),
        field="api_key",
        pipeline="pp",
        places=_places("""
            environment   PP__SOURCES__GHSEC__GH__API_KEY
            environment   PP__SOURCES__GHSEC__API_KEY
            environment   PP__SOURCES__GH__API_KEY
            environment   PP__SOURCES__API_KEY
            environment   PP__API_KEY
            secrets.toml  pp.sources.ghsec.gh.api_key
            secrets.toml  pp.sources.ghsec.api_key
            secrets.toml  pp.sources.gh.api_key
            secrets.toml  pp.sources.api_key
            secrets.toml  pp.api_key
            environment   SOURCES__GHSEC__GH__API_KEY
            environment   SOURCES__GHSEC__API_KEY
            environment   SOURCES__GH__API_KEY
            environment   SOURCES__API_KEY
            environment   API_KEY
            secrets.toml  sources.ghsec.gh.api_key
            secrets.toml  sources.ghsec.api_key
            secrets.toml  sources.gh.api_key
            secrets.toml  sources.api_key
            secrets.toml  api_key
        """),
    ),
    Order(
        name="a source that is called like its section",
        kind="source",
        where=("same", "same"),
        field="org",
        pipeline=None,
        places=_places("""
            environment   SOURCES__SAME__SAME__ORG
            environment   SOURCES__SAME__ORG
            environment   SOURCES__ORG
            environment   ORG
            secrets.toml  sources.same.same.org
            secrets.toml  sources.same.org
            secrets.toml  sources.org
            secrets.toml  org
            config.toml   sources.same.same.org
            config.toml   sources.same.org
            config.toml   sources.org
            config.toml   org
        """),
    ),
    Order(
        name="credentials of a source, a field",
        kind="source",
        where=("ghsec", "gh"),
        field="login.password",
        pipeline="pp",
        places=_places("""
            environment   PP__SOURCES__GHSEC__GH__LOGIN__PASSWORD
            environment   PP__SOURCES__GHSEC__LOGIN__PASSWORD
            environment   PP__SOURCES__GH__LOGIN__PASSWORD
            environment   PP__SOURCES__LOGIN__PASSWORD
            environment   PP__LOGIN__PASSWORD
            secrets.toml  pp.sources.ghsec.gh.login.password
            secrets.toml  pp.sources.ghsec.login.password
            secrets.toml  pp.sources.gh.login.password
            secrets.toml  pp.sources.login.password
            secrets.toml  pp.login.password
            environment   SOURCES__GHSEC__GH__LOGIN__PASSWORD
            environment   SOURCES__GHSEC__LOGIN__PASSWORD
            environment   SOURCES__GH__LOGIN__PASSWORD
            environment   SOURCES__LOGIN__PASSWORD
            environment   LOGIN__PASSWORD
            secrets.toml  sources.ghsec.gh.login.password
            secrets.toml  sources.ghsec.login.password
            secrets.toml  sources.gh.login.password
            secrets.toml  sources.login.password
            secrets.toml  login.password
        """),
    ),
    Order(
        name="credentials of a source, one text for all",
        kind="source",
        where=("ghsec", "gh"),
        field="login",
        pipeline=None,
        places=_places("""
            environment   SOURCES__GHSEC__GH__LOGIN
            environment   SOURCES__GHSEC__LOGIN
            environment   SOURCES__GH__LOGIN
            environment   SOURCES__LOGIN
            environment   LOGIN
            secrets.toml  sources.ghsec.gh.login
            secrets.toml  sources.ghsec.login
            secrets.toml  sources.gh.login
            secrets.toml  sources.login
            secrets.toml  login
        """),
    ),
    Order(
        name="a resource in a source",
        kind="resource",
        where=("ghsec", "gh", "issues"),
        field="org",
        pipeline=None,
        places=_places("""
            environment   SOURCES__GHSEC__ISSUES__ORG
            environment   SOURCES__GHSEC__ORG
            environment   SOURCES__ISSUES__ORG
            environment   SOURCES__ORG
            environment   ORG
            secrets.toml  sources.ghsec.issues.org
            secrets.toml  sources.ghsec.org
            secrets.toml  sources.issues.org
            secrets.toml  sources.org
            secrets.toml  org
            config.toml   sources.ghsec.issues.org
            config.toml   sources.ghsec.org
            config.toml   sources.issues.org
            config.toml   sources.org
            config.toml   org
        """),
    ),
    Order(
        name="a resource in a source with a pipeline",
        kind="resource",
        where=("ghsec", "gh", "issues"),
        field="org",
        pipeline="pp",
        places=_places("""
            environment   PP__SOURCES__GHSEC__ISSUES__ORG
            environment   PP__SOURCES__GHSEC__ORG
            environment   PP__SOURCES__ISSUES__ORG
            environment   PP__SOURCES__ORG
            environment   PP__ORG
            secrets.toml  pp.sources.ghsec.issues.org
            config.toml   pp.sources.issues.org
            config.toml   pp.org
            environment   SOURCES__GHSEC__ISSUES__ORG
            environment   ORG
            secrets.toml  sources.ghsec.issues.org
            config.toml   org
        """),
    ),
    Order(
        name="a resource on its own",
        kind="resource",
        where=("modsec", "issues"),
        field="api_key",
        pipeline=None,
        places=_places("""
            environment   SOURCES__MODSEC__ISSUES__API_KEY
            environment   SOURCES__MODSEC__API_KEY
            environment   SOURCES__ISSUES__API_KEY
            environment   SOURCES__API_KEY
            environment   API_KEY
            secrets.toml  sources.modsec.issues.api_key
            secrets.toml  sources.modsec.api_key
            secrets.toml  sources.issues.api_key
            secrets.toml  sources.api_key
            secrets.toml  api_key
        """),
    ),
    Order(
        name="a destination",
        kind="destination",
        where=("filesystem",),
        field="bucket_url",
        pipeline=None,
        places=_places("""
            environment   DESTINATION__FILESYSTEM__BUCKET_URL
            environment   DESTINATION__BUCKET_URL
            environment   BUCKET_URL
            secrets.toml  destination.filesystem.bucket_url
            secrets.toml  destination.bucket_url
            secrets.toml  bucket_url
            config.toml   destination.filesystem.bucket_url
            config.toml   destination.bucket_url
            config.toml   bucket_url
        """),
    ),
    Order(
        name="a destination with a pipeline",
        kind="destination",
        where=("filesystem",),
        field="bucket_url",
        pipeline="pp",
        places=_places("""
            environment   PP__DESTINATION__FILESYSTEM__BUCKET_URL
            environment   PP__DESTINATION__BUCKET_URL
            environment   PP__BUCKET_URL
            secrets.toml  pp.destination.filesystem.bucket_url
            secrets.toml  pp.destination.bucket_url
            secrets.toml  pp.bucket_url
            config.toml   pp.destination.filesystem.bucket_url
            config.toml   pp.destination.bucket_url
            config.toml   pp.bucket_url
            environment   DESTINATION__FILESYSTEM__BUCKET_URL
            environment   DESTINATION__BUCKET_URL
            environment   BUCKET_URL
            secrets.toml  destination.filesystem.bucket_url
            secrets.toml  destination.bucket_url
            secrets.toml  bucket_url
            config.toml   destination.filesystem.bucket_url
            config.toml   destination.bucket_url
            config.toml   bucket_url
        """),
    ),
    Order(
        name="credentials of a destination, a field",
        kind="destination",
        where=("postgres",),
        field="credentials.host",
        pipeline=None,
        places=_places("""
            environment   DESTINATION__POSTGRES__CREDENTIALS__HOST
            environment   DESTINATION__CREDENTIALS__HOST
            environment   CREDENTIALS__HOST
            secrets.toml  destination.postgres.credentials.host
            secrets.toml  destination.credentials.host
            secrets.toml  credentials.host
        """),
    ),
    Order(
        name="credentials of a destination, a secret field with a pipeline",
        kind="destination",
        where=("postgres",),
        field="credentials.password",
        pipeline="pp",
        places=_places("""
            environment   PP__DESTINATION__POSTGRES__CREDENTIALS__PASSWORD
            environment   PP__DESTINATION__CREDENTIALS__PASSWORD
            environment   PP__CREDENTIALS__PASSWORD
            secrets.toml  pp.destination.postgres.credentials.password
            secrets.toml  pp.destination.credentials.password
            secrets.toml  pp.credentials.password
            environment   DESTINATION__POSTGRES__CREDENTIALS__PASSWORD
            environment   DESTINATION__CREDENTIALS__PASSWORD
            environment   CREDENTIALS__PASSWORD
            secrets.toml  destination.postgres.credentials.password
            secrets.toml  destination.credentials.password
            secrets.toml  credentials.password
        """),
    ),
    Order(
        name="credentials of a destination, one text for all, with a pipeline",
        kind="destination",
        where=("postgres",),
        field="credentials",
        pipeline="pp",
        places=_places("""
            environment   PP__DESTINATION__POSTGRES__CREDENTIALS
            environment   PP__DESTINATION__CREDENTIALS
            environment   PP__CREDENTIALS
            secrets.toml  pp.destination.postgres.credentials
            secrets.toml  pp.destination.credentials
            secrets.toml  pp.credentials
            environment   DESTINATION__POSTGRES__CREDENTIALS
            environment   DESTINATION__CREDENTIALS
            environment   CREDENTIALS
            secrets.toml  destination.postgres.credentials
            secrets.toml  destination.credentials
            secrets.toml  credentials
        """),
    ),
    Order(
        name="a spec with a section of its own, in a source",
        kind="section",
        where=("ghsec", "gh"),
        field="extract.workers",
        pipeline=None,
        places=_places("""
            environment   SOURCES__GHSEC__GH__EXTRACT__WORKERS
            environment   SOURCES__GHSEC__EXTRACT__WORKERS
            environment   SOURCES__GH__EXTRACT__WORKERS
            environment   SOURCES__EXTRACT__WORKERS
            environment   EXTRACT__WORKERS
            config.toml   sources.ghsec.gh.extract.workers
            config.toml   sources.ghsec.extract.workers
            config.toml   sources.gh.extract.workers
            config.toml   sources.extract.workers
            config.toml   extract.workers
        """),
    ),
    Order(
        name="specs in specs: the last field always stays",
        kind="nested",
        where=("outer", "x", "y"),
        field="two.three.a",
        pipeline=None,
        places=_places("""
            environment   X__Y__OUTER__TWO__THREE__A
            environment   X__Y__OUTER__THREE__A
            environment   X__Y__THREE__A
            environment   X__THREE__A
            environment   THREE__A
            config.toml   x.y.outer.two.three.a
            config.toml   x.y.outer.three.a
            config.toml   x.y.three.a
            config.toml   x.three.a
            config.toml   three.a
        """),
    ),
    Order(
        name="specs in specs, in a source",
        kind="nested",
        where=("outer", "sources", "y", "z"),
        field="two.three.a",
        pipeline="pp",
        places=_places("""
            environment   PP__SOURCES__Y__Z__OUTER__TWO__THREE__A
            environment   PP__SOURCES__Y__Z__OUTER__THREE__A
            environment   PP__SOURCES__Z__OUTER__TWO__THREE__A
            environment   PP__SOURCES__Y__Z__THREE__A
            environment   PP__SOURCES__Y__THREE__A
            environment   PP__SOURCES__THREE__A
            environment   PP__THREE__A
            environment   SOURCES__Y__Z__OUTER__TWO__THREE__A
            environment   SOURCES__Y__Z__OUTER__THREE__A
            environment   SOURCES__Z__OUTER__TWO__THREE__A
            environment   SOURCES__Y__Z__THREE__A
            environment   SOURCES__Y__THREE__A
            environment   SOURCES__THREE__A
            environment   THREE__A
        """),
    ),
)

# Places that look as if they were read, and are not.
NOWHERE = {
    "a source": ("GH__ORG", "GHSEC__ORG", "SOURCES__ORG__GH", "GHSEC__GH__ORG", "SOURCES_ORG"),
    "a destination": ("FILESYSTEM__BUCKET_URL", "PP__BUCKET_URL", "DESTINATION_BUCKET_URL"),
    "credentials of a destination, a field": ("HOST", "DESTINATION__HOST", "DESTINATION__POSTGRES__HOST"),
    "specs in specs: the last field always stays": ("A", "X__A", "TWO__THREE__A", "X__Y__TWO__THREE__A"),
}

TEXTS = {
    "int": ("5", "5.5", " 5 ", "1_000", "abc", "", "true"),
    "bool": ("true", "True", "1", "0", "yes", "no", "t", "f", "y", "n", "T", "2", "abc", "", "None"),
    "float": ("5", "5.5", "abc", "nan", "1e3"),
    "str": ("x", "5", "", " a "),
    "Decimal": ("5.5", "x"),
    "bytes": ("YWJj", "abc"),
    "list": ('["a"]', "['a']", "a,b", '{"a":1}', "5"),
    "dict": ('{"a":1}', "{'a':1}", "[]"),
    "Any": ("5", "x", "[1]", "true"),
    "Optional[int]": ("5", "", "None", "null"),
    "Literal": ("a", "c"),
    "datetime": ("2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00+02:00", "x"),
    "date": ("2024-01-01", "x"),
    "TSecretValue": ("5", "[1]"),
    "TSecretStrValue": ("5",),
}
"""Texts of environment variables, by their expected type."""

TOML = {
    "str": ("5", "true", "5.5", "[1]", "2024-01-01"),
    "int": ('"5"', "5.0", "5.5"),
    "bool": ('"true"', "1"),
    "list": ("[1]", '"[1]"', "5"),
    "dict": ("{a=1}", '"{}"'),
    "float": ("5",),
    "datetime": ("2024-01-01T00:00:00Z",),
    "Any": ("5", "{a=1}"),
}
"""Values of TOML files, by their expected type."""

GUESSED = (
    *("5", "5.5", "true", "True", "yes", "no", "t", "1", "0", "[1]", '{"a":1}', "2024-01-01", "1_000", " 5"),
    *("nan", "None", "null", "", "1e3", "a", "'x'", '"x"', "(1,2)", "010"),
)
"""Texts that are read by path without a type."""

URLS = (
    "postgresql://ada:p%40ss@db:5432/shop?sslmode=require",
    "postgresql+psycopg2://ada:p/w@db/shop",
    "duckdb:///path/to/x.db",
    "sqlite://",
    "pg://u@h",
    "pg://:pw@h/x",
    "pg://u:@h/x",
    "pg://[::1]:5/x",
    "nourl",
    "pg://h:abc/x",
    "pg://u:p@h/a%20b",
    "pg://u%40x:p%2Fw@h/d?x=%40",
    "snowflake://u:p@h/d/s?warehouse=w",
    "PG://u:p@H/x",
    "postgresql://u:p@h1:1,h2:2/db",
    "jdbc:postgresql://h/db",
)

CALLS: tuple[tuple[str, dict[str, object], dict[str, str]], ...] = (
    ("nothing passed", {"a": 1}, {"A": "env", "B": "b"}),
    ("an argument without default is the caller's", {}, {"A": "env", "B": "b"}),
    ("missing", {"a": 1}, {}),
    (
        "all found",
        {"a": 1},
        {
            **dict.fromkeys(("B", "C", "D", "E", "G", "H", "I", "J"), "7"),
            "K": "false",
            "L": '{"a": 1}',
            "S__C": "8",
        },
    ),
    ("a text where a number should be", {"a": 1}, {"B": "b", "I": "x"}),
    ("the call wins", {"a": 1, "b": 2, "c": 3}, {"B": "9", "C": "9"}),
    ("the call wins with the value of the default", {"a": 1, "b": 2, "i": 5}, {"I": "9"}),
    ("what is passed is not converted", {"a": 1, "b": 2, "c": "x"}, {}),
    ("None for an argument that may be None", {"a": 1, "b": 2, "d": None}, {"D": "9"}),
    ("None for an argument that must be found", {"a": 1, "b": None}, {"B": "9"}),
)
"""Calls of `def f(a, b=config.value, c: int = 3, d=None, e: int = None, ...)` in the section `s`."""

GIVEN: tuple[tuple[str, dict[str, object], dict[str, str]], ...] = (
    ("missing", {}, {}),
    ("texts", {}, {"X": "x", "O": "o", "U": "5", "C": "u:p"}),
    ("by field", {}, {"X": "x", "U": "5", "C__USER": "u", "C__PASSWORD": "p"}),
    ("an optional secret", {"x": "1", "u": "2", "c": "u:p"}, {}),
    ("credentials as text", {"x": "1", "u": "2", "c": "u:p"}, {"C": "a:b"}),
    ("credentials as an object", {"x": "1", "u": "2", "c": {"user": "u", "password": "p"}}, {}),
    ("credentials in part", {"x": "1", "u": "2", "c": {"user": "u"}}, {"C__PASSWORD": "p", "C__USER": "z"}),
    ("one text beats fields", {"x": "1", "u": "2"}, {"C": "u:p", "S__C__PASSWORD": "q"}),
    ("optional credentials in part", {"x": "1", "u": "2", "c": "u:p"}, {"OC__USER": "u"}),
)
"""Calls of `def g(x: str = secrets.value, o: str | None = secrets.value, u=secrets.value, c: Login = ..)`."""
