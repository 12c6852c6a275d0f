"""A fit to stored rows that was ended goes on to the same bits, or starts afresh: never to another answer."""

import errno
import os
import pickle
import shutil
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
from covering import every_value
from unprivileged import NOBODY

from maxmargin import train
from maxmargin.core.solution import WarmStart
from maxmargin.errors import UnreadableFile
from maxmargin.fit.stored import Checkpoints
from maxmargin.io.store import store_batches
from maxmargin.rows.disk.journal import TITLE
from maxmargin.rows.disk.records import LENGTHS, pack
from maxmargin.rows.disk.rows import DiskRows

RANDOM = np.random.default_rng(4)
X = RANDOM.normal(size=(9_000, 4))
SCORES = X @ np.array([1.0, -1.0, 0.5, 0.0]) + 2 * RANDOM.normal(size=9_000)
SETTINGS = {
    "hinge": {"C": 0.1, "loss": "hinge", "solver": "semismooth_newton", "tol": 1e-8},
    "logistic": {"C": 0.1, "loss": "logistic", "solver": "newton", "tol": 1e-8, "multi_class": "one_vs_rest"},
    "softmax": {"C": 0.1, "loss": "logistic", "solver": "newton", "tol": 1e-8, "multi_class": "softmax"},
    "crammer_singer": {"C": 0.1, "multi_class": "crammer_singer", "class_weight": {1: 1.5}, "tol": 1e-2},
}


def stored(loss, n_classes, tmp_path):
    """Return stored rows and the settings of a fit."""
    labels = np.digitize(SCORES, [-1.0, 1.0] if n_classes == 3 else [0.0])
    return store_batches([(X, labels)], tmp_path / "rows"), SETTINGS[loss]


@pytest.fixture(
    params=[("hinge", 2), *(pytest.param(("logistic", n), marks=pytest.mark.slow) for n in (2, 3))], ids=str
)
def case(request, tmp_path):
    return stored(*request.param, tmp_path)


def bits(model):
    return model.coef.tobytes() + model.intercept.tobytes()


def visits(monkeypatch, ends):
    """Let the visits of blocks be counted, and one of them end in an error."""
    visit, seen = DiskRows._visit, []

    def watched(self, *arguments):
        seen.append(None)
        if len(seen) == ends[0]:
            raise ends[1]
        return visit(self, *arguments)

    monkeypatch.setattr(DiskRows, "_visit", watched)
    return seen


def ended(store, settings, at, error=MemoryError):
    """End a fit at some visit of a block; what it raised goes at once, as its vectors do."""
    with pytest.MonkeyPatch.context() as patch:
        visits(patch, (at, error))
        try:
            train(store, **settings, n_jobs=1)
        except (MemoryError, UnreadableFile):
            return
        except KeyboardInterrupt:
            return
    raise AssertionError("the fit came to its end")


def journal_of(store) -> Path:
    (folder,) = (store.folder / "fits").iterdir()
    return folder


# ---------------------------------------------------------------- whatever ends it


@every_value(
    **{"loss, n_classes": [("hinge", 2), ("logistic", 3), ("softmax", 3), ("crammer_singer", 3)]},
    kind=[OSError, MemoryError, KeyboardInterrupt],
)
def test_a_fit_that_an_error_ended_goes_on_to_the_same_bits(loss, n_classes, kind, tmp_path):
    store, settings = stored(loss, n_classes, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        seen = visits(patch, (0, None))
        calm = train(store, **settings, n_jobs=1)
    for at in np.linspace(2, len(seen) - 1, 8).astype(int):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is begun afresh
            try:
                # A new one each time: its traceback keeps what the fit had open.
                ended(store, settings, at, kind(errno.ENOSPC, "No space left on device"))
            except AssertionError:
                assert kind is KeyboardInterrupt  # which may keep the best model so far
                continue
            with pytest.MonkeyPatch.context() as patch:
                again = visits(patch, (0, None))
                model = train(store, **settings, n_jobs=1)
        assert bits(model) == bits(calm)
        assert model.statuses == calm.statuses
        for found, expected in zip(model.certificates, calm.certificates, strict=True):
            assert found.objective == pytest.approx(expected.objective, rel=1e-12)
        if at > 0.7 * len(seen) and kind is not KeyboardInterrupt:
            assert len(again) < len(seen)  # it did go on
        assert not any((store.folder / "fits").iterdir())


def test_a_disk_without_room_is_named(case):
    store, settings = case
    with pytest.MonkeyPatch.context() as patch:
        visits(patch, (40, OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(UnreadableFile, match=r"No space left on device\. Make room"):
            train(store, **settings)


def test_the_last_certificate_of_a_resumed_fit_is_made_anew(case):
    """Even if every pass is known."""
    store, settings = case
    ended_after_all_passes(store, settings)
    with pytest.MonkeyPatch.context() as patch:
        seen = visits(patch, (0, None))
        train(store, **settings)
    assert len(seen) > 0


def ended_after_all_passes(store, settings):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maxmargin.fit.stored.model_of", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(store, **settings)


# ---------------------------------------------------------------- damage


def flipped(path, share):
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 0x10
    path.write_bytes(bytes(content))


def of_an_earlier_release(folder):
    content = (folder / "passes").read_bytes()
    assert content.startswith(TITLE)
    (folder / "passes").write_bytes(content.replace(TITLE, b"maxmargin passes 1\n", 1))


def without_vectors(folder):
    for path in folder.iterdir():
        if path.name != "passes":
            path.unlink()


def flipped_vectors(folder):
    for path in folder.iterdir():
        if path.name != "passes" and path.stat().st_size:
            flipped(path, 0.5)


def with_a_hole(folder):
    """Put an entry of a terabyte, most of it in no block of the disk, behind the others."""
    with (folder / "passes").open("ab") as passes:
        passes.write(LENGTHS.pack(10, 1 << 40))
        passes.truncate(passes.tell() + (1 << 40) + 100)


DAMAGE = {
    "a hole": with_a_hole,
    "a bit of the journal": lambda folder: flipped(folder / "passes", 0.4),
    "the first bit of the journal": lambda folder: flipped(folder / "passes", 0.0),
    "another journal": lambda folder: (folder / "passes").write_bytes(b"something else"),
    "an earlier release's journal": of_an_earlier_release,
    "no vectors": without_vectors,
    "bits of the vectors": flipped_vectors,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_journal_or_vector_means_that_the_fit_starts_afresh(case, damage):
    store, settings = case
    calm = train(store, **settings)
    ended(store, settings, 60)
    damage(journal_of(store))
    with pytest.warns(UserWarning, match="cannot go on and starts afresh"):
        model = train(store, **settings)
    assert bits(model) == bits(calm)
    assert model.certificates == calm.certificates
    assert not any((store.folder / "fits").iterdir())


@pytest.mark.parametrize(
    "share",
    [0.001, 0.5, 0.999, *(pytest.param(share, marks=pytest.mark.slow) for share in (0.1, 0.3, 0.7, 0.9))],
)
def test_a_journal_that_is_cut_short_leads_to_the_same_bits(share, tmp_path):
    """Whether the vectors are those of the last pass that is left, or of a later one."""
    store, settings = stored("logistic", 3, tmp_path)
    calm = train(store, **settings)
    ended(store, settings, 70)
    passes = journal_of(store) / "passes"
    os.truncate(passes, int(share * passes.stat().st_size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert bits(train(store, **settings)) == bits(calm)


@pytest.mark.parametrize(("loss", "n_classes"), [("hinge", 2), ("logistic", 3)])
def test_a_journal_of_other_rows_is_noticed(loss, n_classes, tmp_path):
    """Somebody wrote to the rows and hid it: then the points are not what was written down of them."""
    store, settings = stored(loss, n_classes, tmp_path)
    other = store_batches([(X[::-1], store.classes[store.arrays["labels"]])], tmp_path / "other")
    calm = train(other, **settings)
    ended_after_all_passes(store, settings)
    shutil.copyfile(other.folder / "X.npy", store.folder / "X.npy")
    os.utime(store.folder / "X.npy", ns=(0, store.files["X"]["mtime_ns"]))
    with pytest.warns(UserWarning, match="cannot go on and starts afresh"):
        model = train(store, **settings)
    assert bits(model) == bits(calm)


FINE = {"alpha": np.zeros(50), "w": np.zeros(3), "offset": 0.5}
CHECKPOINTS = {
    "ragged": FINE | {"alpha": [[0.0], *[0.0] * 49]},
    "lists": FINE | {"alpha": [0.0] * 50},
    "text": FINE | {"w": "abc"},
    "another shape": FINE | {"w": np.zeros(4)},
    "a whole number": FINE | {"offset": 1},
    "half precision": FINE | {"w": np.zeros(3, dtype=np.float16)},
    "NaN": FINE | {"offset": float("nan")},
    "infinite": FINE | {"alpha": np.full(50, np.inf)},
    "parts missing": {"w": np.zeros(3)},
    "no parts": [1, 2],
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_that_is_none_is_not_used(name, tmp_path):
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit" / "0.state").write_bytes(pack(CHECKPOINTS[name]))
    assert Checkpoints(tmp_path / "fit", (50, 3, 1)).warm_starts(1) == [None]
    (tmp_path / "fit" / "0.state").write_bytes(pack(FINE))
    assert Checkpoints(tmp_path / "fit", (50, 3, 1)).warm_starts(1) != [None]


def test_drafts_of_checkpoints_go_with_the_next_fit(tmp_path):
    saved = Checkpoints(tmp_path / "fit", (50, 3, 1))
    saved.save(0, WarmStart(FINE["w"], FINE["offset"], FINE["alpha"]))
    (tmp_path / "fit" / ".0.0123456789ab.part").write_bytes(b"half of one")
    assert Checkpoints(tmp_path / "fit", (50, 3, 1)).warm_starts(1)[0].b == 0.5
    assert [path.name for path in (tmp_path / "fit").iterdir()] == ["0.state"]


def test_a_checkpoint_takes_no_more_memory_than_such_a_one(tmp_path):
    (tmp_path / "fit").mkdir()
    with (tmp_path / "fit" / "0.state").open("wb") as file:
        file.write(pack(FINE))
        file.truncate(1 << 40)  # most of it in no block of the disk
    assert Checkpoints(tmp_path / "fit", (50, 3, 1)).warm_starts(1) == [None]


class Bomb:
    def __reduce__(self):
        return (os.kill, (os.getpid(), signal.SIGKILL))


def test_a_journal_is_no_code(case):
    store, settings = case
    calm = train(store, **settings)
    ended(store, settings, 60)
    (journal_of(store) / "passes").write_bytes(pickle.dumps(Bomb()))
    with pytest.warns(UserWarning, match="starts afresh"):
        assert bits(train(store, **settings)) == bits(calm)


# ---------------------------------------------------------------- stores that somebody else prepared


@pytest.fixture
def precious(tmp_path):
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "letter.txt").write_text("keep me")
    return folder


def as_link(path, target):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(target)


def as_hard_link(path, target):
    path.unlink()
    path.hardlink_to(target)


FORGED = {
    "fits": lambda fits, folder, target: as_link(fits, target),
    "the folder of a fit": lambda fits, folder, target: as_link(folder, target),
    "the journal": lambda fits, folder, target: as_link(folder / "passes", target / "letter.txt"),
    "a vector": lambda fits, folder, target: as_link(folder / "1-a", target / "letter.txt"),
    "a hard link": lambda fits, folder, target: as_hard_link(folder / "1-b", target / "letter.txt"),
    "a pipe": lambda fits, folder, target: ((folder / "passes").unlink(), os.mkfifo(folder / "passes")),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_links_in_a_store_lead_nowhere(case, forge, precious):
    store, settings = case
    calm = train(store, **settings)
    ended(store, settings, 60)
    forge(store.folder / "fits", journal_of(store), precious)
    with pytest.warns(UserWarning, match="is a link|is not an ordinary file|has another name"):
        model = train(store, **settings)
    assert bits(model) == bits(calm)
    assert [path.name for path in precious.iterdir()] == ["letter.txt"]
    assert (precious / "letter.txt").read_text() == "keep me"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["fits", "the folder of a fit", "the journal", "a vector"])
def test_what_belongs_to_others_is_left_alone(case, name):
    store, settings = case
    calm = train(store, **settings)
    ended(store, settings, 60)
    folder = journal_of(store)
    path = dict(zip(FORGED, [folder.parent, folder, folder / "passes", folder / "1-a"], strict=False))[name]
    os.chown(path, NOBODY, NOBODY)
    before = {path.name: path.stat() for path in folder.iterdir()}
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert bits(train(store, **settings)) == bits(calm)
    assert {path.name: path.stat() for path in folder.iterdir()} == before
