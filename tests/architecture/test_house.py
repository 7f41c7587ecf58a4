"""The house stays easy to see: top level, size of files and functions, no forbidden rooms."""

import ast
import configparser
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = {
    "portal",
    "slurm_plugins",
    "accounting",
    "gres_config",
    "templates",
    "tests",
    "manage.py",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "LICENSE",
    "CHANGELOG.md",
}
MOST_FILE_LINES = 450
MOST_FUNCTION_LINES = 60


def list_files() -> list[Path]:
    """Return the project's files: tracked, and new ones that git does not ignore."""
    argv = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    result = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    return [Path(name) for name in result.stdout.splitlines() if (ROOT / name).is_file()]


def list_product_modules() -> list[Path]:
    return [
        path
        for path in list_files()
        if path.suffix == ".py" and "migrations" not in path.parts and path.parts[0] != "tests"
    ]


def find_long_functions(tree: ast.AST, most: int) -> list[str]:
    """Return the functions of more than `most` lines."""
    return [
        f"{node.name}: {(node.end_lineno or 0) - node.lineno + 1} lines"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno + 1 > most
    ]


def test_top_level_is_the_agreed_one() -> None:
    names = {path.parts[0] for path in list_files() if not path.parts[0].startswith(".")}
    assert names - TOP_LEVEL == set()


def test_no_file_is_called_utils_or_signals() -> None:
    assert [path for path in list_product_modules() if path.stem in ("utils", "signals")] == []


@pytest.mark.parametrize("path", list_product_modules(), ids=str)
def test_module_is_short_and_says_its_role(path: Path) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert text.count("\n") <= MOST_FILE_LINES
    assert find_long_functions(tree, MOST_FUNCTION_LINES) == []
    if text.strip() and path.name != "__init__.py":
        assert ast.get_docstring(tree), "a module opens with its role"


def test_a_long_function_is_found() -> None:
    tree = ast.parse("def act():\n" + "    pass\n" * 5)
    assert find_long_functions(tree, 3) == ["act: 6 lines"]


def test_every_room_but_the_factory_is_kept_from_the_backends() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    named = set(parser["importlinter:contract:backends"]["source_modules"].split())
    paths = {path.with_suffix("").parts for path in list_product_modules()}
    rooms = {parts[1] for parts in paths if parts[0] == "portal" and len(parts) > 2} - {"slurm"}
    ports = {parts[2] for parts in paths if parts[:2] == ("portal", "slurm")}
    ports -= {"__init__", "backends", "factory"}
    assert named == {f"portal.{room}" for room in rooms} | {f"portal.slurm.{one}" for one in ports}


def test_portal_package_stays_importable_without_django() -> None:
    assert (ROOT / "portal" / "__init__.py").read_text() == ""
