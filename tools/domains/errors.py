"""Errors of domains."""

from tools.kernel.errors import TakenAlready


class TooManyDomains(TakenAlready):
    """The agent claims as many domains as allowed."""

    code = "too_many_domains"
    usual_hint = "Give one up with remove_domain first; list_domains shows yours."
