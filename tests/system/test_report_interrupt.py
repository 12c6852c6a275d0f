"""Ctrl-C while a report is made: at whatever stage, a whole page or the old one, and nothing beside it."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from browser.report_pages import plain_text

import maxmargin as mm
from maxmargin.data import Data

STAGES = [
    "how far from the optimum",
    "rows that are wrong when left out",
    "what is known about new rows",
    "every other C",
    "leave-one-out along the path",
]


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """A model and its rows, so many of them on the wrong side that leaving them out takes a while."""
    folder = tmp_path_factory.mktemp("noisy")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40)).round(3)
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
    mm.save_data(Data(X, y), folder / "noisy.csv")
    mm.save_model(mm.train(X, y), folder / "noisy.model")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_at_every_stage(noisy, stage):
    before = {path.name for path in noisy.iterdir()} - {"page.html"}
    words = ["report", "noisy.model", "noisy.csv", "-o", "page.html", "--max-time", "600"]
    child = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", *words],
        cwd=noisy,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while (line := child.stderr.readline()) != f"report: {stage}\n":
            assert line, "it ended before this stage"
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)  # generous: what is left would take far longer
    finally:
        child.kill()
    assert (child.returncode, output) == (130, ""), errors
    assert errors == "interrupted: page.html holds the results so far\n"  # and no further stage began
    page = (noisy / "page.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "interrupted by Ctrl-C" in plain_text(page)
    assert {path.name for path in noisy.iterdir()} == before | {"page.html"}


@pytest.mark.parametrize("moment", ["projection", "render", "fingerprint_of"])
def test_a_second_ctrl_c_leaves_the_old_page(tmp_path, monkeypatch, moment):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    X, y = [[0.0], [1.0], [3.0], [4.0]] * 5, [0, 0, 1, 1] * 5
    (tmp_path / "page.html").write_text("the old page")
    monkeypatch.setattr(f"maxmargin.reporting.build.{moment}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        mm.report(mm.LinearSVM().fit(X, y), X, y, path=tmp_path / "page.html")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the old page"]
