"""``maxmargin report``: a page from files, without their folders or contents where these are not wanted."""

from dataclasses import replace

import pytest

from maxmargin import load_model, save_model


@pytest.fixture
def noisy(folder):
    """noisy.csv and later.csv, each with a name for the column and labels that do not separate."""
    for name, shift in (("noisy.csv", 0), ("later.csv", 1)):
        label = ["high" if x + 7 * (x % 3 - 1) > 0 else "low" for x in range(-30, 30)]
        rows = [f"{(k - 30 + shift) / 10},{k % 5},{word}" for k, word in enumerate(label)]
        (folder / name).write_text("\n".join(["height of the wave,wind,label", *rows]) + "\n")
    return folder


def test_a_page_from_two_files(said, noisy):
    said("train", "noisy.csv")
    code, out, err = said("report", "noisy.model", "noisy.csv")
    assert (code, out) == (0, "wrote report.html\n")
    assert err.splitlines()[0] == "report: how far from the optimum"
    page = (noisy / "report.html").read_text(encoding="utf-8")
    assert "height of the wave" in page
    assert "maxmargin report noisy.model noisy.csv -o report.html" in page
    assert "a model file does not contain it" in page


def test_every_option(said, noisy):
    said("train", "noisy.csv", "--class-weight", "balanced", "--calibrate", "sigmoid")
    (noisy / "texts.txt").write_text("".join(f"wave number {k}\n" for k in range(60)), encoding="utf-8")
    shared = ["report", noisy / "noisy.model", "noisy.csv", "--test", "later.csv", "--texts", "texts.txt"]
    shared += [
        "--class-weight",
        "balanced",
        "--title",
        "Waves & more",
        "--max-time",
        20,
        "--suspects",
        3,
        "-q",
    ]
    assert said(*shared, "-o", "open.html") == (0, "", "")
    page = (noisy / "open.html").read_text(encoding="utf-8")
    assert "<title>Waves &amp; more</title>" in page
    assert "held-out rows that had no part in training" in page
    assert "wave number" in page
    assert "balanced classes" in page
    assert str(noisy) not in page
    assert said(*shared, "-o", "closed.html", "--redact") == (0, "", "")
    assert "wave number" not in (noisy / "closed.html").read_text(encoding="utf-8")


def test_the_page_may_go_to_the_standard_output(said, noisy, standard_input):
    said("train", "noisy.csv")
    code, out, err = said("report", "noisy.model", "noisy.csv", "-o", "-", "-q")
    assert (code, err) == (0, "")
    assert out.startswith("<!doctype html>")
    assert out.rstrip().endswith("</html>")
    assert not (noisy / "-").exists()
    standard_input((noisy / "noisy.csv").read_bytes())
    code, out, err = said("report", "noisy.model", "-", "-o", "-")
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert err.startswith("report: ")
    code, _, err = said("report", "noisy.model", "noisy.csv", "-o", "-", "--json")
    assert code == 2
    assert "--json and the page (-) cannot both go to the standard output; name a file" in err


def test_what_cannot_be_done_is_said_in_one_line(said, noisy):
    said("train", "noisy.csv")
    code, _, err = said("report", "noisy.model", "noisy.csv", "-o", "noisy.csv")
    assert code == 2
    assert "noisy.csv is read by this command" in err
    (noisy / "bare.csv").write_text("height of the wave,wind\n1,2\n2,1\n")
    code, _, err = said("report", "noisy.model", "bare.csv")
    assert code == 2
    assert "bare.csv has no labels" in err
    (noisy / "texts.txt").write_bytes(b"\xff\xfe\x00")
    code, _, err = said("report", "noisy.model", "noisy.csv", "--texts", "texts.txt")
    assert code == 2
    assert "texts.txt: expected text in UTF-8" in err
    assert not (noisy / "report.html").exists()


def test_an_interrupt_leaves_a_page(said, noisy, monkeypatch):
    said("train", "noisy.csv")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.reporting.evidence.leave_one_out", interrupted)
    code, out, err = said("report", "noisy.model", "noisy.csv")
    assert (code, out) == (130, "")
    assert err.endswith("interrupted: report.html holds the results so far\n")
    assert "interrupted by Ctrl-C" in (noisy / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("C", [1e200, 1e308])
def test_a_model_whose_file_states_an_enormous_c(said, noisy, loss, C):
    """No fit takes such a C; a file of another origin may have it, and what can be told of it is told."""
    said("train", "noisy.csv", "--loss", loss)
    save_model(replace(load_model("noisy.model"), C=C), "far.model")
    code, out, err = said("report", "far.model", "noisy.csv")
    assert (code, out) == (0, "wrote report.html\n")
    assert all(line.startswith("report: ") for line in err.splitlines())
    assert said("evaluate", "far.model", "noisy.csv")[::2] == (0, "")
    assert said("inspect", "far.model")[::2] == (0, "")
    assert said("certify", "far.model", "noisy.csv")[0] == 2
