"""Discovery: market statistics, demand, search of operations, facts about the market."""
