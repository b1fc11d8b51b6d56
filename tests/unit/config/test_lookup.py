"""The order of the places, row by row: with this place and all later ones set, this place wins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.config_cases import NOWHERE, ORDERS
from tests.oracle.penstock_config import winner
from tests.rule_assertions import assert_no_offenders

from penstock.config import BaseConfiguration, Settings, resolve_configuration
from penstock.config.lookup import Lookup, Sections
from penstock.config.providers import ConfigProvider, DocumentProvider, EnvironmentProvider

names = st.text(alphabet="abcxyz", min_size=1, max_size=3)
some_sections = st.lists(names, max_size=4).map(tuple)


def test_the_first_place_that_has_a_value_wins() -> None:
    assert_no_offenders(
        (
            f"{order.name}: {' '.join(place)} should win, not {value!r}"
            for order in ORDERS
            for at, place in enumerate(order.places)
            if str(value := winner(order, order.values(at))).rpartition("/")[2] != f"p{at}"
        ),
        "look the places up in the order of `config_cases.ORDERS`",
    )


def test_other_places_do_not_count() -> None:
    assert_no_offenders(
        (
            f"{order.name}: {key} is read"
            for order in ORDERS
            for key in NOWHERE.get(order.name, ())
            if winner(order, [["environment", key, "wrong"]]) == "wrong"
        ),
        "do not look at these places",
    )


def test_a_setting_without_any_place_has_no_value() -> None:
    assert_no_offenders(
        (
            f"{order.name}: {value!r}"
            for order in ORDERS
            if (value := winner(order, [])) is not None and value != "-"
        ),
        "return no value where no place has one",
    )


@given(sections=some_sections, kept=st.integers(0, 4), pipeline=st.none() | names)
def test_any_prefix_of_the_sections_is_enough(
    sections: tuple[str, ...], kept: int, pipeline: str | None
) -> None:
    variable = "__".join((*sections[:kept], "key")).upper()

    search = Lookup(key="key", sections=Sections(requested=sections), pipeline_name=pipeline).find(
        Settings(environment={variable: "here"}).providers
    )

    assert search.value == "here"
    assert search.location == search.tried_locations[-1]


@given(asked=some_sections, added=some_sections, kept=some_sections)
def test_the_chain_has_every_prefix_once_longest_first(
    asked: tuple[str, ...], added: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    chain = list(Sections(requested=asked, added=added, suffix=kept).candidates())

    full = (*asked, *added)
    prefixes = [(*full[:length], *kept) for length in range(len(full), -1, -1)]
    assert chain == prefixes, "no source, no short form"


@given(rest=st.lists(names, min_size=2, max_size=3).map(tuple), added=some_sections)
def test_a_source_has_its_short_form_in_the_third_place(
    rest: tuple[str, ...], added: tuple[str, ...]
) -> None:
    chain = list(Sections(requested=("sources", *rest), added=added).candidates())

    full = ("sources", *rest, *added)
    short = ("sources", rest[1], *added)
    assert len(set(chain)) == len(chain), "no place twice"
    assert chain[0] == full
    assert chain[-1] == ()
    assert set(chain) == {full[:length] for length in range(len(full) + 1)} | {short}
    assert chain.index(short) <= 2


@given(
    sections=st.lists(names, min_size=1, max_size=3).map(tuple),
    pipeline=st.text(alphabet="pq", min_size=1, max_size=3),
    picked=st.data(),
)
def test_the_earlier_of_two_places_wins(
    sections: tuple[str, ...], pipeline: str, picked: st.DataObject
) -> None:
    class Spec(BaseConfiguration):
        key: str

    places = [seen.location for seen in _lookup(sections, pipeline).iter_locations(Settings().providers)]
    first, second = sorted(picked.draw(st.sets(st.integers(0, len(places) - 1), min_size=2, max_size=2)))
    told = _told({str(places[at]): f"p{at}" for at in (second, first)})

    found = resolve_configuration(Spec, settings=told, sections=sections, pipeline_name=pipeline)

    assert found.key == f"p{first}"


def test_all_providers_are_asked_with_the_pipeline_before_any_is_asked_without() -> None:
    places = [str(seen.location) for seen in _lookup(("x",), "pp").iter_locations(Settings().providers)]

    assert places == [
        "environment: PP__X__KEY",
        "environment: PP__KEY",
        "secrets.toml: pp.x.key",
        "secrets.toml: pp.key",
        "config.toml: pp.x.key",
        "config.toml: pp.key",
        "environment: X__KEY",
        "environment: KEY",
        "secrets.toml: x.key",
        "secrets.toml: key",
        "config.toml: x.key",
        "config.toml: key",
    ]


def test_a_provider_without_sections_is_asked_for_the_bare_key() -> None:
    class Flat(ConfigProvider):
        @property
        def name(self) -> str:
            return "flat"

        @property
        def supports_sections(self) -> bool:
            return False

        def get_value(
            self, key: str, hint: object, pipeline_name: str | None, *sections: str
        ) -> tuple[object, str]:
            return ("flat", key) if not sections else (None, "asked with sections")

    search = Lookup(key="key", sections=Sections(requested=("a", "b"))).find([Flat()])

    assert (search.value, [str(place) for place in search.tried_locations]) == ("flat", ["flat: key"])


@pytest.mark.parametrize("name", ["path", "home", "user", "shell", "lang"])
def test_a_variable_of_the_machine_is_nobodys_setting(name: str) -> None:
    machine = EnvironmentProvider(
        variables={name.upper(): "the machine's", f"SOURCES__{name.upper()}": "ours"}
    )

    assert machine.get_value(name, str, None) == (None, name.upper())
    assert machine.get_value(name, str, None, "sources") == ("ours", f"SOURCES__{name.upper()}")


def test_changing_a_found_value_does_not_change_the_settings() -> None:
    document = DocumentProvider(title="config.toml", tree={"tags": ["a"]})
    lookup = Lookup(key="tags")

    lookup.find([document]).value.append("b")

    assert lookup.find([document]).value == ["a"]


def _lookup(sections: tuple[str, ...], pipeline: str | None) -> Lookup:
    return Lookup(key="key", sections=Sections(requested=sections), pipeline_name=pipeline)


def _told(values: dict[str, str]) -> Settings:
    trees: dict[str, dict[str, object]] = {"environment": {}, "secrets.toml": {}, "config.toml": {}}
    for place, value in values.items():
        provider, _, key = place.partition(": ")
        parts = [key] if provider == "environment" else key.split(".")
        below = trees[provider]
        for part in parts[:-1]:
            below = below.setdefault(part, {})  # type: ignore[assignment]
        below[parts[-1]] = value
    environment = {key: str(value) for key, value in trees["environment"].items()}
    return Settings(environment=environment, secrets=trees["secrets.toml"], document=trees["config.toml"])
