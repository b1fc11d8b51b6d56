"""Some resources of a source, by name and by flag."""

import dlt


@dlt.source
def zoo():
    for animal in ["lion", "mouse", "newt"]:
        yield dlt.resource([{"animal": animal}], name=animal, selected=animal != "newt")


def run(extract):
    extract(zoo())
    extract(zoo().with_resources("newt"))
    chosen = zoo()
    chosen.lion.selected = False
    chosen.resources["mouse"].add_map(lambda row: {**row, "small": True})
    extract(chosen)
    extract.declaring(lambda: zoo().with_resources("unicorn"))
