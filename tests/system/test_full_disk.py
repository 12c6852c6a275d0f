"""A disk that is full: whatever writes a file says so, leaves nothing half-written and keeps the old file."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from little_room import little_room

import maxmargin
from maxmargin import (
    Perceptron,
    TraceDisplay,
    export_onnx,
    load_data,
    report,
    save_data,
    save_model,
    store_data,
    train,
)
from maxmargin.cli.program import main
from maxmargin.errors import UnreadableFile
from maxmargin.io.liblinear import LiblinearModel, write_liblinear_model

PACKAGE = Path(maxmargin.__file__).parent

ROOM = 60  # bytes: less than any of the files takes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.where(X[:, 0] + 0.4 * RNG.normal(size=60) > 0, 1, -1)


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """Files and objects from which something can be written."""
    folder = tmp_path_factory.mktemp("material")
    lines = "".join(f"{y} 1:{a!r} 2:{b!r}\n" for y, (a, b) in zip(Y.tolist(), X.tolist(), strict=True))
    (folder / "a.svm").write_text(lines)
    model = train(X, Y)
    save_model(model, folder / "a.model")
    weights = LiblinearModel("L2R_LR", (1, -1), 1.0, RNG.normal(size=(3, 1)))
    write_liblinear_model(folder / "a.liblinear", weights)
    perceptron = Perceptron(trace=True, max_passes=2).fit(X[:6], Y[:6])
    return {
        "data": load_data(folder / "a.svm"),
        "model": model,
        "weights": weights,
        "film": TraceDisplay.from_estimator(perceptron).animate(steps=[0, 1]),
        "svm": str(folder / "a.svm"),
        "file": str(folder / "a.model"),
        "liblinear": str(folder / "a.liblinear"),
    }


def program(*words):
    """A command; its refusal becomes an error as those of functions are."""

    def run(given, path):
        told = [given.get(word, word) for word in words]
        code = main([path if word == "PATH" else word for word in told] + ["--quiet"])
        if code == 2:
            raise UnreadableFile("refused")
        assert code in (0, 1)

    return run


def saved_data(given, path):
    save_data(given["data"], path)


# What writes files: the file's name, and how it is written.
WRITERS = {
    "LIBSVM text": ("out.svm", saved_data),
    "gzip": ("out.svm.gz", saved_data),
    "bzip2": ("out.svm.bz2", saved_data),
    "xz": ("out.svm.xz", saved_data),
    "table": ("out.csv", saved_data),
    "Parquet": ("out.parquet", saved_data),
    "Arrow": ("out.arrow", saved_data),
    "Arrow, a stream": ("out.arrows", saved_data),
    "named arrays": ("out.npz", saved_data),
    "named arrays, packed": ("out.npz.gz", saved_data),
    "an array": ("out.npy", saved_data),
    "model": ("out.model", lambda given, path: save_model(given["model"], path)),
    "ONNX": ("out.onnx", lambda given, path: export_onnx(given["model"], path)),
    "LIBLINEAR's": ("out.model", lambda given, path: write_liblinear_model(path, given["weights"])),
    "report": ("out.html", lambda given, path: report(given["model"], X, Y, path=path)),
    "film": ("out.gif", lambda given, path: given["film"].save(path, dots_per_inch=30)),
    "film as a page": ("out.html", lambda given, path: given["film"].save(path, dots_per_inch=30)),
    "train": ("out.model", program("train", "svm", "PATH")),
    "predict": ("out.txt", program("predict", "svm", "file", "-o", "PATH")),
    "report of the program": ("out.html", program("report", "file", "svm", "-o", "PATH")),
    "path": ("out.csv", program("path", "svm", "--Cs", "0.1,1", "-o", "PATH")),
    "picture of the path": ("out.png", program("path", "svm", "--Cs", "0.1,1", "--plot", "PATH")),
    "loo": ("out.tsv", program("loo", "svm", "-o", "PATH")),
    "convert": ("out.parquet", program("convert", "svm", "PATH")),
    "convert a model": ("out.onnx", program("convert", "file", "PATH")),
    "liblinear-train": ("out.model", program("liblinear-train", "svm", "PATH")),
    "liblinear-predict": ("out.txt", program("liblinear-predict", "svm", "liblinear", "PATH")),
}


# Long in the making, and written as any other file is.
LONG = ("film", "film as a page", "report of the program", "picture of the path")


@pytest.fixture(
    params=[
        pytest.param(writer, id=name, marks=pytest.mark.slow if name in LONG else ())
        for name, writer in WRITERS.items()
    ]
)
def writer(request, tmp_path, capsys):
    """The file, and what writes it."""
    name, write = request.param
    return tmp_path / name, write


def test_where_there_is_no_room_nothing_is_left_and_the_old_file_stays(writer, material):
    path, write = writer
    with little_room(ROOM), pytest.raises(UnreadableFile):
        write(material, str(path))
    assert list(path.parent.iterdir()) == []
    path.write_bytes(b"old")
    path.chmod(0o640)
    with little_room(ROOM), pytest.raises(UnreadableFile):
        write(material, str(path))
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]
    write(material, str(path))  # it was the disk
    assert path.stat().st_size > ROOM
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_device_that_is_always_full(writer, material):
    path, write = writer
    path.symlink_to("/dev/full")
    with pytest.raises(UnreadableFile):
        write(material, str(path))
    assert path.is_symlink()
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "words", [["predict", "svm", "file"], ["train", "svm", "-"], ["loo", "svm", "-o", "-"]], ids=str
)
def test_the_standard_output_may_be_full(material, words):
    told = [sys.executable, "-m", "maxmargin", *(material.get(word, word) for word in words)]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(told, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_folder_of_rows_is_there_whole_or_not_at_all(tmp_path, material):
    with little_room(ROOM), pytest.raises(UnreadableFile, match="cannot be written"):
        store_data(material["data"], tmp_path / "rows")
    assert list(tmp_path.iterdir()) == []
    store_data(material["data"], tmp_path / "rows")
    before = {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()}
    with little_room(ROOM), pytest.raises(UnreadableFile, match="cannot be written"):
        store_data(material["data"], tmp_path / "rows")
    assert {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()} == before
    assert list(tmp_path.iterdir()) == [tmp_path / "rows"]


def test_the_demo_keeps_only_whole_files(tmp_path, capsys):
    with little_room(ROOM):
        assert main(["demo", "--folder", str(tmp_path), "--quiet"]) == 2
    assert list(tmp_path.iterdir()) == []
    assert "cannot be written: File too large" in capsys.readouterr().err
    with little_room(ROOM):
        assert main(["demo", "--folder", str(tmp_path / "new" / "folder"), "--quiet"]) == 2
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- there is one way to write

# Where files are opened for writing: the way itself, folders that are renamed or removed, and the journal of
# a fit, which is written in place so that it survives its process.
WRITES_DIRECTLY = {
    "rows/disk/atomic.py",
    "cli/streams.py",
    "io/store.py",
    "rows/disk/journal.py",
}
WRITING_METHODS = {"write_text", "write_bytes", "touch", "savefig", "tofile", "to_csv"}


def writing_calls(path):
    """Yield the calls in a file that may write to a path."""
    text = path.read_text(encoding="utf-8")
    if "open(" not in text and not any(method in text for method in WRITING_METHODS):
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        is_method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if is_method else getattr(node.func, "id", "")
        texts = [a.value for a in ast.walk(node) if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        is_mode = any(text in ("w", "wb", "a", "ab", "x", "xb", "r+", "r+b", "w+b") for text in texts)
        if (is_method and name in WRITING_METHODS) or (name == "open" and is_mode):
            yield name


def test_all_files_are_written_in_the_one_way():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        names = sorted(writing_calls(path))
        if names:
            found[path.relative_to(PACKAGE).as_posix()] = names
    # Into what the one way opened: an archive's entry, a packed stream, a picture.
    inside = {
        "rows/disk/archive.py": ["open"],
        "io/save.py": ["open"],
        "displays/panels.py": ["savefig"],
    }
    assert {name: found[name] for name in found.keys() - WRITES_DIRECTLY} == inside
