"""Relations between agents: reads the traces of agents that the pure rules compare."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from storage.agents import domains_of_agents, operators_wallets, payers_of_agents, referrals_of, wallets_of_agents
from storage.tables import JobRow
from storage.transaction import Tx
from storage.vocabulary import Env
from tools.agents.relation_rules import Traces, are_linked, are_related, pays_much_of, registrable, share_payers

BATCH = 25  # a draw usually needs a few agents, but it may have to skip thousands


class Relations:
    """Relations between agents by what was stored before `until`; reads `order` in batches."""

    def __init__(self, tx: Tx, env: Env, order: Sequence[str], until: datetime) -> None:
        self._tx, self._env, self._order, self._until = tx, env, order, until
        self._place = {one: at for at, one in enumerate(order)}
        self._operators = {wallet.lower() for wallet in tx.all(operators_wallets, first_party=True)}
        self._known: dict[str, Traces] = {}

    def related(self, one: str, other: str) -> bool:
        return self.hold(are_related, one, other)

    def hold(self, relation: Callable[[Traces, Traces], bool], one: str, other: str) -> bool:
        return relation(self._traces(one), self._traces(other))

    def _traces(self, agent_id: str) -> Traces:
        if agent_id not in self._known:
            at = self._place.get(agent_id)
            wanted = [agent_id] if at is None else self._order[at : at + BATCH]
            self._known |= {one.agent_id: one for one in self._read(wanted)}
        return self._known[agent_id]

    def _read(self, agent_ids: Sequence[str]) -> Iterable[Traces]:
        tx, until = self._tx, self._until
        referrers = {agent_id: referrer for agent_id, referrer, _ in tx.all(referrals_of, ids=agent_ids)}
        named = {one for one in referrers.values() if one}
        of_operator = {agent_id for agent_id, _, first_party in tx.all(referrals_of, ids=named) if first_party}
        wallets, domains = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        paid = defaultdict[str, Counter[str]](Counter)
        for agent_id, address in tx.all(wallets_of_agents, ids=agent_ids, until=until):
            wallets[agent_id].add(address.lower())
        for agent_id, domain in tx.all(domains_of_agents, ids=agent_ids, until=until):
            domains[agent_id].add(registrable(domain))
        for agent_id, address, amount in tx.all(payers_of_agents, ids=agent_ids, env=self._env, until=until):
            if address.lower() not in self._operators:
                paid[agent_id][address.lower()] += int(amount)
        for one in agent_ids:
            yield Traces(
                agent_id=one,
                wallets=frozenset(wallets[one] - self._operators),
                referrer=referrers.get(one),
                referred_by_operator=referrers.get(one) in of_operator,
                domains=frozenset(domains[one]),
                paid_by=paid[one],
            )


class RelationsInCase:
    """The relations that keep an evaluator from judging a job, by what was seen before `until`.

    What a party has paid an evaluator, and what other wallets have paid both, counts only if it was paid before the job
    was ordered. A party that already knows of the dispute can then change nothing by paying. What a party has paid an
    evaluator is kept apart from the other relations, because the party alone decides it.
    """

    def __init__(self, tx: Tx, job: JobRow, order: Sequence[str], until: datetime) -> None:
        self._parties = (job.buyer_id, job.seller_id)
        self._now = Relations(tx, Env(job.env), order, until)
        self._ordered = Relations(tx, Env(job.env), order, job.created_at)

    def related(self, one: str, other: str) -> bool:
        """Check whether an evaluator is related to another one or to a party.

        What a party has paid the evaluator does not count here.
        """
        if other not in self._parties:
            return self._now.related(one, other)
        seen = self._now.hold(are_linked, one, other) or self._now.hold(pays_much_of, one, other)
        return seen or self._ordered.hold(share_payers, one, other)

    def bought(self, one: str) -> bool:
        """Check whether a party has paid an evaluator so much that they are related.

        Only wallets count that were bound before the job was ordered.
        """
        return any(self._ordered.hold(pays_much_of, party, one) for party in self._parties)
