"""The structure of the code: file sizes, imports, existing names in texts, forbidden columns."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from storage.tables import JobRow
from tools.discovery.changelog import CHANGELOG

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((ROOT / "docs").rglob("*.md"))
METHOD = re.compile(r"eth_(?!account)[A-Za-z]+")  # eth_account is a library
CODE_PATH = re.compile(r"\b(?:server|tools|protocol|rest|storage|tests|benchmarks|clients)/[\w/]+\.py\b")
PACKAGES = ("server", "tools", "protocol", "storage", "rest")
MODULES = [
    path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")) if "versions" not in path.parts
]
TOP_LEVEL = {
    *PACKAGES, "tests", "benchmarks", "docs", "pyproject.toml", "skill.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
    "Makefile", "requirements.lock", "requirements-test.lock", "clients", "examples", "compose.yaml",
}  # fmt: skip


def test_the_top_level_holds_what_was_agreed_and_nothing_else() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    top = {path.split("/")[0] for path in listed if path and not path.startswith(".")}
    assert top <= TOP_LEVEL


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_says_what_it_is_for_and_stays_small(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree) or not text.strip(), "the first line says what the module is for"
    assert text.count("\n") <= (300 if path.stem.endswith("operations") else 400)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


def test_documents_name_files_that_exist() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(one for one in DOCUMENTS if one.name != "renamed.md")]
    named = {path for one in documents for path in CODE_PATH.findall(one.read_text())}
    assert len(named) > 50
    assert {path for path in named if not (ROOT / path).is_file()} == set()


def test_imports_point_in_one_direction() -> None:
    script = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_m8_m9_no_column_holds_what_is_paid_or_owed() -> None:
    money = {"price", "quoted_price", "max_price"}  # what the parties said
    found = {
        name for name in JobRow.__names__ if any(word in name for word in ("paid", "refund", "owed", "amount", "price"))
    }
    assert found == money


def test_o3_the_version_is_written_once_and_told_in_the_changelog() -> None:
    told = {"pyproject.toml", "tools/discovery/changelog.py", "CHANGELOG.md"}
    places = [
        *MODULES,
        *(ROOT / name for name in TOP_LEVEL if (ROOT / name).suffix in (".toml", ".md", "")),
        *DOCUMENTS,
    ]
    text = rf"(?<![\d.]){re.escape(version('emporion'))}(?![\d.])"
    found = {str(path.relative_to(ROOT)) for path in places if path.is_file() and re.search(text, path.read_text())}
    assert found == told
    assert CHANGELOG[0].version == version("emporion")


def test_the_market_asks_a_chain_only_what_it_may() -> None:
    """Invariant 3: a receipt, the block number, a block, read-only calls.

    At the start, also the chain's id.
    """
    allowed = {"eth_getTransactionReceipt", "eth_blockNumber", "eth_getBlockByNumber", "eth_call", "eth_chainId"}
    named = set()
    for path in MODULES:
        # The sandbox is a chain, and the demo is a client with a wallet.
        if "sandbox" in path.parts or path.name == "demo.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and METHOD.fullmatch(node.value):
                named.add(node.value)
    assert named == allowed


def test_the_market_process_never_loads_the_chain_or_web3() -> None:
    program = "import server.app, server.serve, sys; print([m for m in sys.modules if m.split('.')[0] in ('eth','web3','x402')])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_slow_middleware_is_in_the_stack() -> None:
    for path in MODULES:
        assert "BaseHTTPMiddleware" not in path.read_text(), path


def test_each_data_file_of_a_package_is_installed_with_it() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    data = {ROOT / path for path in listed.stdout.splitlines() if not path.endswith(".py")}
    installed = {path for package, globs in patterns.items() for glob in globs for path in (ROOT / package).glob(glob)}
    assert data
    assert data - installed == set()
