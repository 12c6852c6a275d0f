"""The site: what docs/ must list, and the parts of its build that are ours. The build is a slow test."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

import maxmargin
from maxmargin import losses

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCRIPTS = sorted((DOCS / "gallery").rglob("plot_*.py"))


def module_from(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_site = module_from(ROOT / "scripts" / "check_site.py")
plain_docstrings = module_from(DOCS / "extensions" / "plain_docstrings.py")


def listed(module: str) -> list[str]:
    """Return the names that the reference's tables list for a module."""
    names = []
    for page in sorted((DOCS / "reference").glob("*.rst")):
        current = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\.\. currentmodule:: (\S+)", line):
                current = found[1]
            elif current == module and (found := re.match(r"   (\w+)$", line)):
                names.append(found[1])
    return names


# ---------------------------------------------------------------- what is listed


def test_reference_lists_every_public_name_once():
    # A new name goes to the page of docs/reference that fits it; "losses" is a module, with its own table.
    assert sorted(listed("maxmargin")) == sorted(set(maxmargin.__all__) - {"losses"})


def test_reference_lists_every_name_of_the_losses():
    elsewhere = {
        "LOSSES",
        *maxmargin.__all__,
    }  # a constant, explained in the text; names of the package itself
    assert sorted(listed("maxmargin.losses")) == sorted(set(losses.__all__) - elsewhere)


def test_gallery_shows_every_display():
    text = "\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    displays = {name for name in maxmargin.__all__ if name.endswith("Display")}
    assert {name for name in displays if f"mm.{name}." not in text} == set()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_of_the_gallery_has_a_title_and_says_what_is_seen(script):
    title, underline, empty, *text = ast.get_docstring(
        ast.parse(script.read_text(encoding="utf-8"))
    ).splitlines()
    assert set(underline) == {"="}
    assert len(underline) >= len(title)
    assert empty == ""
    assert len(" ".join(text)) > 100


def test_every_decision_is_listed():
    pages = sorted(path.name for path in (DOCS / "decisions").glob("0*.md"))
    assert (
        re.findall(r"\((0\d+-[\w-]+\.md)\)", (DOCS / "decisions" / "README.md").read_text(encoding="utf-8"))
        == pages
    )


@pytest.mark.parametrize("index", ["guides/index.md", "coming-from/index.md", "reference/index.md"])
def test_every_page_below_has_a_card(index):
    text = (DOCS / index).read_text(encoding="utf-8")
    pages = text.split(":hidden:")[1].split("```")[0].split()
    assert re.findall(r"^:link: (\S+)$", text, flags=re.MULTILINE) == pages
    folder = (DOCS / index).parent
    files = {page.stem for page in (*folder.glob("*.md"), *folder.glob("*.rst"))} - {"index"}
    assert {page for page in pages if not page.startswith("..")} == files


def test_every_benchmark_is_listed():
    scripts = {path.name for path in (ROOT / "benchmarks").glob("*.py")}
    table = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+\.py)` \| .+ \|$", table, flags=re.MULTILINE)) == scripts


def test_page_of_benchmarks_links_every_result_from_its_question():
    text = module_from(DOCS / "extensions" / "benchmark_pages.py").index_text()
    results = {path.name for path in (ROOT / "benchmarks" / "results").glob("*.md")}
    assert set(re.findall(r"^\| \[.+\]\((\w+\.md)\) \| `\w+\.py` \|$", text, flags=re.MULTILINE)) == results
    assert set(text.split(":hidden:")[1].split("```")[0].split()) == {name[:-3] for name in results}


# ---------------------------------------------------------------- links


def site_of(folder: Path, **pages: str) -> Path:
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    return folder


def test_links_that_lead_somewhere(tmp_path):
    site = site_of(
        tmp_path,
        index='<a href="other.html#there">1</a> <a href="#here">2</a> <p id="here"></p> <a href="https://x.org/">3</a>',
        other='<p id="there"></p><a href="index.html">back</a><img src="data:image/png;base64,AA==">',
    )
    assert check_site.check(site) == ([], {"https://x.org/"}, 5)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<a href="gone.html">', "index.html: there is no gone.html"),
        ('<a href="index.html#gone">', "index.html: index.html#gone: the page has no anchor 'gone'"),
        ('<img src="gone.png">', "index.html: there is no gone.png"),
        ('<script src="https://x.org/a.js">', "index.html: loads https://x.org/a.js"),
        ('<img srcset="//x.org/a.png 2x">', "index.html: loads //x.org/a.png"),
        ('<link rel="stylesheet" href="http://x.org/a.css">', "index.html: loads http://x.org/a.css"),
    ],
)
def test_links_that_do_not(tmp_path, body, complaint):
    assert check_site.check(site_of(tmp_path, index=body))[0] == [complaint]


def test_empty_site_is_no_success(tmp_path, capsys):
    (tmp_path / "site").mkdir()
    assert check_site.main([str(tmp_path / "site")]) == 1
    assert "there are no pages" in capsys.readouterr().err


# ---------------------------------------------------------------- docstrings


@pytest.mark.parametrize(
    ("line", "escaped"),
    [
        ("the value |m| of it", r"the value \|m\| of it"),
        ("Σ |1 − m|, and ``|m|`` as code", r"Σ \|1 − m\|, and ``|m|`` as code"),
        ("see coef_ and `plan_`, not snake_case", r"see coef\_ and `plan_`, not snake_case"),
        ("coef_ : array of |support_|", r"coef_ : array of \|support\_\|"),
        ("coef_", "coef_"),
    ],
)
def test_docstring_is_plain_text(line, escaped):
    assert plain_docstrings.escaped(line) == escaped


def test_examples_and_blocks_stay_as_they_are():
    lines = ["Text |a|.", "", ">>> f(a | b)", "a_ | b", "", "As in::", "", "    |x|", "", "Text |b|."]
    plain_docstrings.escape(None, "function", "f", None, None, lines)
    assert lines == [
        "Text \\|a\\|.",
        "",
        ">>> f(a | b)",
        "a_ | b",
        "",
        "As in::",
        "",
        "    |x|",
        "",
        "Text \\|b\\|.",
    ]
