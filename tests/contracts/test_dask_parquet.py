"""A Parquet data set on a Dask cluster: read by the workers, to the bits and encoding of rows in memory."""

import numpy as np
import pytest
from covering import each_row

from maxmargin import LinearSVM, LogisticRegression, ParquetData, load_data, train
from maxmargin.errors import FileFormatError, InvalidInput, InvalidParameter, MissingFile
from maxmargin.rows.kernels import Combine
from maxmargin.rows.memory import MemoryRows

pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
fsspec = pytest.importorskip("fsspec")
import pyarrow.fs  # noqa: E402

from maxmargin.io.tables.parquet_blocks import parquet_blocks  # noqa: E402
from maxmargin.rows.dask import worker as dask_worker  # noqa: E402
from maxmargin.rows.dask.rows import DaskRows  # noqa: E402

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture
def client(two_workers):
    return two_workers


def table(n=4000, dtype=np.float64):
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 2)).astype(dtype)
    colour = random.choice(["red", "green", "blue"], n)
    score = X[:, 0] - X[:, 1] + (colour == "red") + random.normal(size=n)
    return pa.table(
        {
            "name": [f"row {k}" for k in range(n)],
            "a": X[:, 0],
            "colour": colour,
            "b": X[:, 1],
            "weight": random.integers(0, 4, n).astype(float),
            "kind": np.where(score > 0, "in", "out"),
        }
    )


def written(folder, rows, files=2, group=500):
    folder.mkdir(exist_ok=True)
    size = -(-rows.num_rows // files)
    for k in range(files):
        pq.write_table(rows.slice(k * size, size), folder / f"part-{k}.parquet", row_group_size=group)
    return folder


ROLES = {"label": "kind", "weight": "weight", "drop": ["name"]}


def test_blocks_are_row_groups_and_rows_are_those_of_load_data(client, tmp_path):
    rows = table()
    folder = written(tmp_path / "set", rows)
    (folder / "_SUCCESS").write_text("")
    pq.write_table(rows, tmp_path / "all.parquet")
    whole = load_data(tmp_path / "all.parquet", **ROLES)
    ours = DaskRows(parquet_blocks(ParquetData(folder, **ROLES), client), client)
    try:
        assert [span.end - span.first for span in ours._blocks] == [500] * 8
        assert list(ours.classes) == ["in", "out"]
        everything = np.arange(ours.n_rows)
        assert (ours.take(everything, ours.labels)[0] == (whole.y == "out")).all()
        assert (ours.take(everything, ours.weights)[0] == whole.sample_weight).all()
        a = np.random.default_rng(1).normal(size=ours.n_rows)
        sums = ours.reduce(Combine(ours.n_columns), ours.keep(a))
        in_memory = MemoryRows(whole.X, block_rows=500).reduce(Combine(ours.n_columns), a)
        assert sums.tobytes() == in_memory.tobytes()
    finally:
        ours.close()


def test_a_fit_has_the_bits_of_one_in_memory(client, tmp_path):
    """Row groups as long as the blocks that arrays of this shape have."""
    rows = table(20_000).drop(["colour", "name"])
    folder = written(tmp_path / "set", rows, files=1, group=8192)
    model = train(ParquetData(folder, label="kind", weight="weight"), loss="logistic", client=client)
    data = load_data(folder / "part-0.parquet", label="kind", weight="weight")
    expected = train(data, loss="logistic", solver="newton")
    assert model.coef.tobytes() == expected.coef.tobytes()
    assert model.intercept.tobytes() == expected.intercept.tobytes()
    assert model.certificate.bound == expected.certificate.bound


def test_the_model_reads_further_tables_as_it_was_trained(client, tmp_path):
    rows = table()
    folder = written(tmp_path / "set", rows)
    ours = LogisticRegression(C=0.1).fit(ParquetData(folder, **ROLES), client=client)
    names = ["a", "colour=blue", "colour=green", "colour=red", "b"]
    assert list(ours.feature_names_in_) == names
    model = ours._model
    again = load_data(folder / "part-1.parquet", label="kind", encoding=model.encoding)
    assert list(again.feature_names) == names
    assert (model.predict(again.X) == again.y).mean() > 0.7
    assert model.label == "kind"


@pytest.mark.slow
def test_paths_with_a_client_are_a_parquet_data_set(client, tmp_path):
    rows = table(1000).drop(["name"])
    folder = written(tmp_path / "set", rows)
    expected = train(ParquetData(folder, label="kind", weight="weight"), client=client)
    paths = [folder / "part-0.parquet", str(folder / "part-1.parquet")]
    for named in (folder, paths):
        model = train(named, "kind", sample_weight="weight", client=client)
        assert model.coef.tobytes() == expected.coef.tobytes()
    ours = LinearSVM().fit(str(folder), y="kind", sample_weight="weight", client=client)
    assert ours.coef_.tobytes() == expected.coef.tobytes()
    for fit in (train, LinearSVM().fit):
        with pytest.raises(InvalidInput, match=r"list of 2 paths.*ParquetData\(paths, label=.*store_data"):
            fit(paths, "kind")


def test_small_row_groups_are_joined_where_that_is_asked_for(client, tmp_path):
    folder = written(tmp_path / "set", table(1000), group=90)
    blocks = parquet_blocks(ParquetData(folder, block_rows=200, **ROLES), client)
    assert [(part.groups, part.first_row, part.n_rows) for part in blocks.parts[:3]] == [
        ((0, 1), 0, 180),
        ((2, 3), 180, 180),
        ((4, 5), 360, 140),
    ]
    assert [part.path[-9:] for part in blocks.parts] == ["0.parquet"] * 3 + ["1.parquet"] * 3


@pytest.mark.parametrize(
    "named",
    [
        lambda folder: {"paths": [str(folder / "part-1.parquet"), folder / "part-0.parquet"]},
        lambda folder: {"paths": f"file://{folder}"},
        lambda folder: {"paths": str(folder), "filesystem": fsspec.filesystem("file")},
        lambda folder: {"paths": "", "filesystem": fsspec.filesystem("dir", path=str(folder), fo=None)},
        lambda folder: {
            "paths": ["part-0.parquet", "part-1.parquet"],
            "filesystem": pyarrow.fs.SubTreeFileSystem(str(folder), pyarrow.fs.LocalFileSystem()),
        },
    ],
    ids=["list", "url", "fsspec", "fsspec folder", "pyarrow"],
)
def test_files_are_found_on_any_file_system(client, tmp_path, named):
    folder = written(tmp_path / "set", table(1000))
    source = ParquetData(**named(folder), **ROLES)
    rows = DaskRows(parquet_blocks(source, client), client)
    try:
        assert rows.n_rows == 1000
    finally:
        rows.close()


def changed(folder, **columns):
    rows = table(100)
    for name, values in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    pq.write_table(rows, folder / "part-9.parquet")


def with_gap(folder):
    changed(folder, a=[None if k == 40 else 1.0 for k in range(100)])


def with_infinity(folder):
    changed(folder, a=[np.inf if k == 40 else 1.0 for k in range(100)])


def cut_short(folder):
    path = folder / "part-1.parquet"
    path.write_bytes(path.read_bytes()[:-100])


def partitioned(folder):
    (folder / "year=2020").mkdir()
    (folder / "part-0.parquet").rename(folder / "year=2020" / "part-0.parquet")


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (with_gap, InvalidInput, r"block 4 .*part-9.parquet.*row 40.*missing.*; ParquetData\(.*encoding="),
        (with_infinity, InvalidInput, r"block 4 .*part-9.parquet.*found inf"),
        (lambda folder: changed(folder, a=list(range(100))), FileFormatError, '"a" is of type int64, in'),
        (cut_short, FileFormatError, "part-1.parquet: not Parquet data"),
        (partitioned, InvalidInput, "partitioned: the column 'year'"),
        (lambda folder: (folder / "notes.txt").write_text("hello"), FileFormatError, "notes.txt: not Parq"),
    ],
)
def test_trouble_is_named_with_its_file(client, tmp_path, spoil, error, message):
    folder = written(tmp_path / "set", table(1000), group=250)
    spoil(folder)
    with pytest.raises(error, match=message):
        train(ParquetData(folder, **ROLES), client=client)
    assert set(client.run(lambda: len(dask_worker.state.blocks)).values()) == {0}


def test_what_is_not_there_is_named(client, tmp_path):
    with pytest.raises(MissingFile, match="nothing.parquet: the worker finds no such file"):
        train(ParquetData(tmp_path / "nothing.parquet"), client=client)
    with pytest.raises(MissingFile, match="no file in this folder"):
        train(ParquetData(tmp_path), client=client)
    written(tmp_path, table(100))
    with pytest.raises(InvalidParameter, match='label="sort"'):
        train(ParquetData(tmp_path, label="sort"), client=client)


def test_missing_values_are_filled_by_an_encoding(client, tmp_path):
    folder = written(tmp_path / "set", table(1000))
    with_gap(folder)
    part = load_data(folder / "part-9.parquet", missing="mean", **ROLES)
    source = ParquetData(folder, label="kind", encoding=part.encoding)
    assert train(source, loss="logistic", client=client).certificate.relative_gap <= 1e-4


@each_row(
    ("paths", "settings", "message"),
    [
        (3, {}, "paths must be a path"),
        ([], {}, "empty list"),
        (["a", 4], {}, "paths must be a path"),
        ("a", {"label": 2.5}, "label must be"),
        ("a", {"filesystem": 3}, "filesystem must be"),
        ("a", {"block_rows": 0}, "block_rows must be"),
        ("a", {"block_rows": True}, "block_rows must be"),
        ("a", {"unknown": "guess"}, "unknown must be"),
    ],
)
def test_wrong_settings_are_refused_at_once(paths, settings, message):
    with pytest.raises(InvalidParameter, match=message):
        ParquetData(paths, **settings)


def test_a_client_is_for_a_cluster_only(client):
    with pytest.raises(InvalidParameter, match="client is for rows on a Dask cluster"):
        LinearSVM().fit([[0.0], [1.0]], [0, 1], client=client)
    with pytest.raises(InvalidParameter, match="y is the name of one of its columns; got a list"):
        train("rows.parquet", [1, 0], client=client)
    with pytest.raises(InvalidParameter, match="client must be a dask.distributed.Client"):
        train(ParquetData("rows.parquet"), client="tcp://127.0.0.1:8786")
    with pytest.raises(InvalidParameter, match="leave it out"):
        train(ParquetData("rows.parquet"), [1, 0], client=client)
