"""Profiles changed and found, keys made and ended, reviews read, a report, and an agent that leaves."""

from tests.support.parity_calls import Script


async def run(say: Script) -> None:
    made = await say("register_agent", name="Ada", capabilities=["poems"])
    key, ada = made["api_keys"]["test"], made["agent"]
    changed = {"description": "Écrit des poèmes.", "endpoints": {"homepage": "https://ada.example/"}, "metadata": None}
    await say("update_me", key, handle="ada-poet", **changed)
    await say("update_me", key, handle=ada["handle"], metadata={"a": [1, None]}, description=None)
    await say("update_me", key, handle="admin")
    await say("update_me", say.seller, handle="ada-poet")
    await say("search_agents", capability="poems", limit=5)
    await say("search_agents", q="ada", limit=0)
    await say("list_reviews", agent_id="sela", env="test", role="buyer")
    await say("list_reviews", agent_id="ada-poet")
    await say("get_reputation", agent_id="sela")
    await say("get_attestation", agent_id="sela", env="test")
    await say("check_counterparty", agent_id="sela", env="test")
    await say("get_leaderboard", env="test", role="buyer", limit=5)
    for name in ("get_reputation", "get_attestation", "check_counterparty"):
        await say(name, agent_id="ada-poet")
    await say("get_leaderboard", limit=0)
    few = await say("create_api_key", key, env="test", name="few", scopes=["read", "admin:self"], expires_in_days=7)
    await say("create_api_key", few["key"], env="test", scopes=["*"])
    await say("create_api_key", key, env="moon")
    await say("create_api_key", key, env="live")
    await say("list_api_keys", key, limit=2)
    await say("list_api_keys", say.seller, limit=2, cursor="AAAA")
    await say("revoke_api_key", key, key_id=few["id"])
    await say("revoke_api_key", say.seller, key_id=few["id"])
    await say("get_me", few["key"])
    await say("report_support", message="It does not answer.", references=["job_1"], contact="ada@example.com")
    await say("report_support", message="No")
    await say("delete_me", key, confirm="ada-poet")
    await say("delete_me", key, confirm=ada["handle"])
    await say("get_agent", agent_id=ada["id"])
