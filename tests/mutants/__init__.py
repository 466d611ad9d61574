"""Mutation tests: change the rules of money and reputation on purpose, and count how many changes the tests notice.

`make mutants` runs it. It is our own small tool, because neither common tool suits this repository (November 2026).
mutmut 3.8 changes only the bodies of functions, and skips functions with a decorator: many of our rules are tables,
constants and properties. cosmic-ray 8.7 changes files in place and starts a new process for each change: the start alone
takes seconds here, so that a sample would not end within an hour on two cores.

`modules` lists the changed modules and the tests of each; `changes` makes the changes; `runner` forks a process for
each; `excuses` lists the changes that no test can notice, each with its reason; `clauses` lists named changes that the
test of one clause of the contract must notice.
"""
