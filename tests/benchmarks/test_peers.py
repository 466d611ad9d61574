"""The peers answer the requests of the bench with the market's listings, so that both do the same work."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from benchmarks import shots
from benchmarks.data import PEPPER, Seeded, seed
from benchmarks.peers.fastapi_sqlmodel import application, fill


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seeded]:
    folder = tmp_path_factory.mktemp("peers")
    data = seed(f"sqlite:///{folder / 'market.db'}", PEPPER, listings=200)
    fill(folder / "peer.db", folder / "market.db", [(trader.id, trader.key) for trader in data.traders])
    return folder / "peer.db", data


def test_the_fastapi_peer_reads_finds_and_sells(seeded: tuple[Path, Seeded]) -> None:
    path, data = seeded
    client, key = TestClient(application(path)), {"x-api-key": data.traders[0].key}
    read = client.get(f"/v1/listings/{data.listing_ids[0]}", headers=key).json()
    assert read["id"] == data.listing_ids[0]
    assert read["input_schema"]["required"] == ["text", "language"]
    found = client.get("/v1/listings?tag=trade-0&limit=5", headers=key).json()
    assert found["has_more"] is True
    assert ["trade-0" in listing["tags"] for listing in found["data"]] == [True] * 5
    order = {"listing_id": data.listing_ids[1], "input": shots.ORDERED}
    job = client.post("/v1/jobs", headers=key, json=order)
    assert (job.status_code, job.json()["buyer_id"]) == (201, data.traders[0].id)


@pytest.mark.parametrize(("headers", "status"), [({}, 401), ({"x-api-key": "unknown"}, 401)])
def test_the_fastapi_peer_demands_a_key(seeded: tuple[Path, Seeded], headers: dict[str, str], status: int) -> None:
    path, data = seeded
    assert (
        TestClient(application(path)).get(f"/v1/listings/{data.listing_ids[0]}", headers=headers).status_code == status
    )
