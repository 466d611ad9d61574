"""A server that speaks PostgreSQL's protocol and is another engine is refused before the migrations."""

import psycopg
import pytest

from storage.migrate import upgrade
from storage.open import open_database
from storage.postgres import POSTGRESQL
from storage.transaction import Unavailable
from tests.support.databases import PostgresServer

OTHERS = [
    "CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/02 17:27:51, go1.23.7)",
    "PostgreSQL 15.2-YB-2025.2.3.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 17.0.6, 64-bit",
    "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.77467",
    "(openGauss 6.0.0 build aee4abd5) compiled at 2024-09-29",
]
POSTGRESQLS = [
    "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit",
    "PostgreSQL 17.4 on aarch64-unknown-linux-gnu, compiled by gcc (GCC) 9.5.0, 64-bit",
]


@pytest.mark.parametrize("said", OTHERS)
def test_another_engine_is_refused_before_the_migrations(postgres: PostgresServer, said: str) -> None:
    url = postgres.create("engine")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("ALTER DATABASE engine SET search_path = public, pg_catalog")
        body = psycopg.sql.Literal(f"SELECT {psycopg.sql.Literal(said).as_string(admin)}")
        admin.execute(psycopg.sql.SQL("CREATE FUNCTION public.version() RETURNS text LANGUAGE sql AS {}").format(body))
    with pytest.raises(Unavailable, match="needs PostgreSQL itself"):
        upgrade(open_database(url))
    with psycopg.connect(url) as admin:
        assert admin.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,)


@pytest.mark.parametrize("said", POSTGRESQLS)
def test_postgresql_is_known_by_its_version(said: str) -> None:
    assert POSTGRESQL.match(said)
