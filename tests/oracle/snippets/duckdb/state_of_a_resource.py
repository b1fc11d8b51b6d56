"""State of a resource and of its source."""

import dlt


@dlt.source(name="chess")
def chess():
    @dlt.resource
    def games():
        seen = dlt.current.resource_state().setdefault("seen", [])
        runs = dlt.current.source_state().setdefault("runs", {"count": 0})
        runs["count"] += 1
        for game in ("a", "b", "c")[: runs["count"] + 1]:
            if game not in seen:
                seen.append(game)
                yield {"game": game, "run": runs["count"]}

    return games


pipeline = dlt.pipeline("state_of_a_resource", destination="duckdb", dataset_name="chess_data")
pipeline.run(chess())
pipeline.run(chess())
state = pipeline.state["sources"]["chess"]
print(state["runs"], state["resources"])
