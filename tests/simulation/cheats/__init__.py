"""Cheats: agents that try to gain something for nothing, one for each known trick."""
