"""Arguments that come from the environment."""

import os

import dlt

os.environ["SOURCES__SETTINGS__HUB__TOKEN"] = "t0ken"
os.environ["SOURCES__SETTINGS__PAGES"] = "3"
os.environ["SOURCES__SETTINGS__ISSUES__LABELS"] = '["bug", "docs"]'
os.environ["SOURCES__SETTINGS__DETAILS__VERBOSE"] = "true"
os.environ["SOURCES__SETTINGS__ALONE__SIZE"] = "8"


@dlt.resource
def issues(labels: list = dlt.config.value, pages: int = 1):
    yield {"labels": labels, "pages": pages}


@dlt.transformer
def details(issue, verbose: bool = False):
    return {"verbose": verbose, "labels": len(issue["labels"])}


@dlt.source
def hub(token: str = dlt.secrets.value, pages: int = 10, colour="red"):
    return (
        dlt.resource([{"token": token, "pages": pages, "colour": colour}], name="given"),
        issues,
        issues | details,
    )


@dlt.resource
def alone(size: int = dlt.config.value, missing=None):
    yield {"size": size, "missing": missing}


@dlt.resource
def lost(nowhere: str = dlt.config.value):
    yield nowhere


def run(extract):
    extract(hub())
    extract(hub(token="mine", pages=1, colour="blue"))
    extract(hub(pages=2).with_resources("details"))
    extract(alone)
    extract(alone(size=2))
    extract(lost)
