"""The tutorial of SQL databases: two tables of Postgres, one of them by a cursor."""

import os
import runpy

import dlt
from program import SCRIPT, execute

TURNS = 2
os.environ |= {
    "SOURCES__SQL_DATABASE__CREDENTIALS": os.environ["PROGRAMS_POSTGRES"],
    "SOURCES__SQL_DATABASE__TABLE_NAMES": '["family", "genome"]',
}
TABLES = """
drop table if exists family;
drop table if exists genome;
create table family (
    rfam_acc varchar(7) primary key, rfam_id varchar(40) not null, description text, num_seed bigint,
    gathering numeric(5, 2), is_clan boolean, created timestamp not null, updated timestamptz not null
);
create table genome (
    upid varchar(20) primary key, scientific_name varchar(300), total_length bigint, share float8
);
insert into family select 'RF' || n, 'id-' || n, case when n % 3 = 0 then null else 'family ' || n end,
    n * 10, n + 0.25, n % 2 = 0, timestamp '2013-10-03 20:41:44' + n * interval '1 hour',
    timestamptz '2026-01-01 00:00:00+00' + n * interval '1 day' from generate_series(1, 200) n;
insert into genome select 'UP' || n, 'species ' || n, n * 1000000000::bigint, n / 8.0
    from generate_series(1, 50) n;
"""
LATER = """
insert into family select 'RF' || n, 'id-' || n, 'later', n, 1.5, true, timestamp '2014-01-01 00:00:00',
    timestamptz '2027-01-01 00:00:00+00' + n * interval '1 day' from generate_series(201, 220) n;
"""


def run(turn):
    """Make the rows of the turn and run the script."""
    execute(TABLES if turn == 1 else LATER)
    runpy.run_path(SCRIPT, run_name="__main__")
    return dlt.pipeline()
