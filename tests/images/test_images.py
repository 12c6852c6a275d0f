"""Every picture looks as it did when somebody last looked at it; and the comparison notices what matters."""

import matplotlib as mpl
import numpy as np
import pytest
from images.comparison import DRAWN_WITH, assert_same_picture, is_same, one_look, pixels, read, save
from images.table import PICTURES
from matplotlib import pyplot as plt

MINOR = ".".join(mpl.__version__.split(".")[:2])

same_release = pytest.mark.skipif(
    MINOR != DRAWN_WITH,
    reason=f"the kept pictures were drawn with matplotlib {DRAWN_WITH}; {MINOR} sets letters elsewhere",
)


@pytest.fixture(autouse=True)
def _one_look_and_no_figure_left():
    with one_look():
        yield
        plt.close("all")


@same_release
@pytest.mark.parametrize("name", PICTURES)
def test_picture(name):
    display = PICTURES[name].draw(None)
    assert_same_picture(display.figure_.figure, name)


# ---------------------------------------------------------------- the comparison itself


def drawing(*, n_marks=12, tint=0.06, moved=0.0, title="one of them"):
    figure, ax = plt.subplots(figsize=(4, 3))
    places = np.arange(n_marks)
    ax.scatter(places, places % 5, s=10, linewidth=0)
    ax.plot([2 + moved, 2 + moved], [0, 4], linewidth=0.8, color="black")
    ax.axvspan(5, 8, color="black", alpha=tint, linewidth=0)
    ax.set(xlim=(-1, 12), ylim=(-1, 5), title=title)
    return figure


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{"n_marks": 11}, {"tint": 0.0}, {"moved": 0.2}, {"title": "one of then"}], ids=str
)
def test_a_missing_or_moved_mark_line_tint_or_letter_is_noticed(change):
    kept = pixels(drawing())
    assert is_same(kept, pixels(drawing()))
    assert not is_same(kept, pixels(drawing(**change)))


@pytest.mark.slow
@pytest.mark.parametrize("nudge", [0.05, -0.05])
def test_a_twentieth_of_a_pixel_is_not(nudge):
    kept = pixels(drawing())
    nudged = drawing()
    for ax in nudged.axes:
        ax.set_position(ax.get_position().translated(nudge / 320, nudge / 240))
    assert is_same(kept, pixels(nudged))


def test_a_figure_and_its_file_have_the_same_pixels(tmp_path):
    for size in ((4, 3), (3.33, 2.77)):
        figure = drawing()
        figure.set_size_inches(size)
        save(figure, tmp_path / "saved.png")
        np.testing.assert_array_equal(pixels(figure), np.round(read(tmp_path / "saved.png")))


def test_a_difference_is_kept_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr("images.comparison.KEPT", tmp_path / "kept")
    monkeypatch.setattr("images.comparison.DIFFERING", tmp_path / "differing")
    monkeypatch.delenv("MAXMARGIN_NEW_IMAGES", raising=False)
    with pytest.raises(AssertionError, match="there is no sketch.png"):
        assert_same_picture(drawing(), "sketch")
    save(drawing(), tmp_path / "kept" / "sketch.png")
    assert_same_picture(drawing(), "sketch")
    with pytest.raises(AssertionError, match="sketch differs from its kept picture.*make images"):
        assert_same_picture(drawing(n_marks=11), "sketch")
    parts = {path.stem for path in (tmp_path / "differing").iterdir()}
    assert parts == {"sketch-drawn", "sketch-kept", "sketch-difference"}


def test_new_images_replace_only_what_changed(tmp_path, monkeypatch):
    monkeypatch.setattr("images.comparison.KEPT", tmp_path)
    monkeypatch.setenv("MAXMARGIN_NEW_IMAGES", "1")
    assert_same_picture(drawing(), "sketch")
    first = (tmp_path / "sketch.png").read_bytes()
    assert_same_picture(drawing(), "sketch")
    assert (tmp_path / "sketch.png").read_bytes() == first
    assert_same_picture(drawing(n_marks=11), "sketch")
    assert (tmp_path / "sketch.png").read_bytes() != first
    assert [path.name for path in tmp_path.iterdir()] == ["sketch.png"]
