"""Attacks of the outside review, made as an attacker would make them: over HTTP and chain RPC only.

Run all of them against this tree: `python -m pytest tests/end_to_end/attacks`. Run them against another tree, for example a
git worktree of an old commit: `ATTACK_TREE=/path/to/worktree python -m pytest tests/end_to_end/attacks`. A test marked
`finding(n)` shows that the harm of finding n is impossible; it fails on a tree that has the weakness. The tests here
import nothing of the product.
"""
