"""Arguments and secrets from the settings."""

import os

import dlt

os.environ["SOURCES__API_KEY"] = "hush"
os.environ["SOURCES__WEATHER__CITIES"] = '["Rome", "Oslo"]'
os.environ["SOURCES__WEATHER__LIMIT"] = "7"


@dlt.source(name="weather", section="weather")
def weather(cities=dlt.config.value, api_key=dlt.secrets.value, limit: int = 1):
    @dlt.resource
    def forecast():
        yield [{"city": city, "letters": len(api_key), "limit": limit} for city in cities]

    return forecast


dlt.pipeline("settings", destination="duckdb", dataset_name="sky").run(weather())
print(dlt.config["sources.weather.limit"], dlt.secrets["sources.api_key"] == "hush")
