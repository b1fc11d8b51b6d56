"""Resources that take arguments, and names that depend on them."""

import dlt


@dlt.resource
def countdown(start, step=1):
    for number in range(start, 0, -step):
        yield {"number": number}


@dlt.resource(name=lambda args: f"shelf_{args['letter']}")
def shelf(letter, size=2):
    yield from ({"place": f"{letter}{number}"} for number in range(size))


def run(extract):
    extract(countdown(4, step=2))
    extract([shelf("a"), shelf("b", size=1)])
    extract(countdown(1).with_name("liftoff"))
    extract(countdown)
