"""The client's own rules: small files, plain English, nothing of the market's code, and an installation of its own."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import emporion_client
from tests.shape.prose import breaches

ROOT = Path(emporion_client.__file__).parents[1]
GENERATED = ("table.py", "records.py")
FILES = sorted(path for path in ROOT.rglob("*.py") if path.name not in GENERATED and "build" not in path.parts)
HOUSE = {"server", "tools", "protocol", "storage", "rest", "tests", "benchmarks"}
ALLOWED = {"emporion_client", "httpx", "eth_account", "eth_utils"} | set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_and_functions_are_small_and_say_what_they_are_for(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert text.count("\n") <= 400
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name
    assert list(breaches(path)) == []


@pytest.mark.parametrize("path", sorted((ROOT / "emporion_client").glob("*.py")), ids=lambda path: path.name)
def test_the_package_imports_only_its_two_dependencies(path: Path) -> None:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {one.name.split(".")[0] for one in node.names}
        if isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    assert found <= ALLOWED | ({"nacl", "rfc8785"} if path.name == "receipts.py" else set())
    assert not found & HOUSE


def test_it_installs_alone_and_imports_quickly(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    source = tmp_path / "source"  # a build leaves folders in its source
    subprocess.run(["cp", "-r", str(ROOT), str(source)], check=True)
    subprocess.run([*pip, "--no-build-isolation", "--target", str(tmp_path / "there"), str(source)], check=True)
    program = (
        "import sys, emporion_client, emporion_client.records, emporion_client.cli; print(emporion_client.__file__);"
        f"print(sorted({HOUSE!r} & set(sys.modules) | {{'eth_account'}} & set(sys.modules)))"
    )
    env = {"PYTHONPATH": str(tmp_path / "there"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [str(tmp_path / "there/emporion_client/__init__.py"), "[]"]
    installed = {path.name for path in (tmp_path / "there/emporion_client").iterdir()}
    assert {"py.typed", "methods.pyi", "records.py", "table.py"} <= installed
    assert (tmp_path / "there/bin/emporion-client").exists()


def test_the_server_does_not_need_the_client() -> None:
    """Only the desk and the demo, which are clients, import it; everything else runs without it."""
    root = ROOT.parents[1]
    for package in HOUSE - {"tests", "benchmarks"}:
        for path in (root / package).rglob("*.py"):
            clients = path.is_relative_to(root / "server" / "desk") or path == root / "server" / "demo.py"
            assert clients or "emporion_client" not in path.read_text(), path
    program = "import sys; sys.modules['emporion_client'] = None; import server.cli, server.serve"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)
    assert "emporion-client" not in (root / "requirements.lock").read_text()
