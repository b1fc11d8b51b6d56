"""The programs: their place in the two repositories, and the way of their import."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from dev.dlt_imports import code_blocks

FOLDER: Final = Path(__file__).parent
_TUTORIAL: Final = "docs/website/docs/tutorial"
_HASHES: Final = "Spark reads the rows, and hashes those at the last value in another way"
_REST: Final = "docs/website/docs/dlt-ecosystem/verified-sources/rest_api"


@dataclass(frozen=True)
class Program:
    """A program of the repositories; its driver is `drivers/<name>.py`."""

    name: str
    kind: str
    """The features of it that are compared, in a few words."""
    source: str = ""
    """The package of verified sources."""
    script: str = ""
    """The script of dlt's repository, or a page with the number of a block: `page.md#2`."""
    imports: Literal["untouched", "replaced"] = "replaced"
    """Whether penstock runs it with its imports of dlt, or with replaced ones."""
    needs_database: bool = False
    state_difference: str = ""
    """Why the state is not compared; empty: it must be equal."""

    def copy_to(self, folder: Path, verified_sources: Path, dlt: Path) -> Path | None:
        """Copy the program into a folder; return the path of its script, None for a verified source."""
        if self.source:
            shutil.copytree(verified_sources / "sources" / self.source, folder / self.source)
            return None
        path, _, number = self.script.partition("#")
        text = (dlt / path).read_text("utf-8")
        script = folder / f"{self.name}_program.py"
        script.write_text(list(code_blocks(text))[int(number)][1] if number else text, "utf-8")
        return script


PROGRAMS: Final = (
    Program("github_events", "REST, links, cursor", source="github", imports="untouched"),
    Program("pokemon_lists", "REST", source="pokemon"),
    Program("chess_games", "REST, deferred, state", source="chess", imports="untouched"),
    Program("strapi_collections", "REST, offsets", source="strapi"),
    Program("jira_issues", "REST, page tokens, nesting", source="jira"),
    Program("workable_jobs", "REST, links, transformers", source="workable"),
    Program("personio_employees", "OAuth, transformers, interval", source="personio"),
    Program("hubspot_objects", "REST, hints with rows", source="hubspot"),
    Program("zendesk_tickets", "OAuth token, state, interval", source="zendesk"),
    Program("pipedrive_deals", "transformers, state, cursor", source="pipedrive"),
    Program("shopify_orders", "REST, links, interval, merge", source="shopify_dlt"),
    Program(
        "transformers_example",
        "transformers, parallel",
        script="docs/examples/transformers/transformers.py",
        imports="untouched",
    ),
    Program(
        "masking_example",
        "changed rows, SQL of the result",
        script="docs/examples/data_masking/data_masking.py",
        imports="untouched",
    ),
    Program(
        "propagation_example",
        "merge, nested rows",
        script="docs/examples/propagate_hints/propagate_hints.py",
        imports="untouched",
    ),
    Program("rest_github_tutorial", "REST declared, cursor, merge", script=f"{_TUTORIAL}/rest-api.md#4"),
    Program("zoom_oauth", "REST client, OAuth", script=f"{_REST}/advanced.md#25"),
    Program(
        "sql_tutorial",
        "SQL, cursor",
        script=f"{_TUTORIAL}/sql-database.md#3",
        imports="untouched",
        needs_database=True,
        state_difference=_HASHES,
    ),
    Program(
        "files_tutorial",
        "files, cursor, merge",
        script=f"{_TUTORIAL}/filesystem.md#4",
        imports="untouched",
        state_difference=f"{_HASHES}; with_name of a transformer does not rename the resource that feeds it",
    ),
)
