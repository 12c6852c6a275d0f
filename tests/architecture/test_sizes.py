"""Files, functions and parameter lists stay small; each exception says why it is one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FILE_LINES = 400
PYTHON_FUNCTION_LINES = 50
CPP_FUNCTION_LINES = 80
PARAMETERS = 7

# What is longer, and why: {"path" or "path:name": "reason"}.
LONG_FILES: dict[str, str] = {}
LONG_FUNCTIONS: dict[str, str] = {}
LONG_PARAMETER_LISTS: dict[str, str] = {}

SOURCES = ("src", "cpp", "tests", "benchmarks")


def files(*suffixes: str) -> list[Path]:
    """Return the project's own files; the stub is generated."""
    found = (path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    return sorted(path for path in found if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body without its docstring: explanation is not length."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def positional_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters that a call may give without their name; keyword-only ones explain themselves."""
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


NO_FUNCTION = re.compile(r"\s*(namespace|struct|class|enum|union|extern|if|else|for|while|switch|do|try|\})")


def cpp_functions(path: Path) -> Iterator[tuple[int, int]]:
    """First line and length of each function, found by its indentation: clang-format keeps it regular."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for first, line in enumerate(lines):
        if line.endswith("{") and ")" in line and not NO_FUNCTION.match(line):
            closing = line[: len(line) - len(line.lstrip())] + "}"
            length = next((k for k, later in enumerate(lines[first:]) if k and later.startswith(closing)), 0)
            yield first + 1, length + 1


def test_files_are_short():
    paths = [path for path in files(".py", ".cpp", ".hpp") if name_of(path) not in LONG_FILES]
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert {name: length for name, length in lengths.items() if length > FILE_LINES} == {}


def test_python_functions_are_short():
    long = {
        f"{name_of(path)}:{function.name}": code_lines(function)
        for path in files(".py")
        for function in python_functions(path)
        if code_lines(function) > PYTHON_FUNCTION_LINES
    }
    assert {name: length for name, length in long.items() if name not in LONG_FUNCTIONS} == {}


def test_cpp_functions_are_short():
    long = {
        f"{name_of(path)}:{line}": length
        for path in files(".cpp", ".hpp")
        for line, length in cpp_functions(path)
        if length > CPP_FUNCTION_LINES
    }
    assert long == {}


def test_functions_take_few_positional_parameters():
    many = {
        f"{name_of(path)}:{function.name}": positional_parameters(function)
        for path in files(".py")
        if path.is_relative_to(ROOT / "src")
        for function in python_functions(path)
        if positional_parameters(function) > PARAMETERS
    }
    assert {name: count for name, count in many.items() if name not in LONG_PARAMETER_LISTS} == {}


@pytest.mark.parametrize("table", [LONG_FILES, LONG_FUNCTIONS, LONG_PARAMETER_LISTS])
def test_exceptions_name_files_that_exist(table):
    assert [key for key in table if not (ROOT / key.split(":")[0]).is_file()] == []


def test_a_long_cpp_function_would_be_seen(tmp_path):
    source = tmp_path / "long.cpp"
    source.write_text("int f(int x) {\n" + "    x += 1;\n" * 90 + "}\n")
    assert list(cpp_functions(source)) == [(1, 92)]
