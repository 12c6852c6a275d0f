"""What a fit on a Dask cluster takes and refuses: kinds of columns, labels and chunks, and clients."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference.on_dask import client_here

from maxmargin import LinearSVM
from maxmargin.errors import InvalidInput, InvalidParameter

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.xdist_group("dask")

N = 40
KINDS = np.array(["in", "out"])[np.arange(N) % 2]


def fit(X, y, **settings):
    return LinearSVM(tol=0.1).fit(X, y, client=client_here(), **settings)


def frame(**columns):
    made = pd.DataFrame({"a": np.arange(N) % 2 + 0.5, "kind": KINDS}).assign(**columns)
    return dd.from_pandas(made, npartitions=2)


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2020", periods=N),
        pd.date_range("2020", periods=N, tz="UTC"),
        pd.to_timedelta(np.arange(N), unit="h"),
    ],
)
def test_dates_are_refused_by_name(column):
    with pytest.raises(InvalidInput, match='column "when" of X holds dates or times .*make numbers of it'):
        fit(frame(when=column), "kind")
    in_memory = pd.DataFrame({"a": np.arange(N), "when": column})
    with pytest.raises(InvalidInput, match='column "when" of X holds dates or times .*make numbers of it'):
        LinearSVM().fit(in_memory, KINDS)


@pytest.mark.parametrize("dtype", ["string", "category"])
def test_text_is_refused_with_what_to_do_and_that_works(dtype):
    rows = frame(town=pd.Series(["x", "y", "z", "y"] * 10).astype(dtype))
    advice = (
        r"categories: town\. .*ParquetData\(folder.*get_dummies\(frame.categorize\(\['town'\]\), columns="
    )
    with pytest.raises(InvalidInput, match=advice):
        fit(rows, "kind")
    encoded = dd.get_dummies(rows.categorize(["town"]), columns=["town"])
    assert list(fit(encoded, "kind").feature_names_in_) == ["a", "town_x", "town_y", "town_z"]


def test_categories_that_are_numbers_are_taken_as_numbers():
    assert fit(frame(size=pd.Categorical([1, 2] * 20)), "kind").n_features_in_ == 2


@pytest.mark.parametrize(
    "dtype", ["str", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("string", "category", object))]
)
def test_labels_of_a_series_stand_beside_an_array(dtype):
    X = da.from_array(np.arange(2.0 * N).reshape(N, 2) % 3, chunks=(10, -1))
    assert list(fit(X, pd.Series(KINDS).astype(dtype)).classes_) == ["in", "out"]


def test_dense_and_sparse_chunks_together_are_refused():
    def mixed(part, block_info=None):
        return sp.csr_array(part) if block_info[0]["chunk-location"][0] == 2 else part

    X = da.zeros((N, 2), chunks=(10, -1)).map_blocks(mixed, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(InvalidInput, match="block 0 .* is dense, block 2 is sparse.*csr_array"):
        fit(X, KINDS)


def test_a_closed_client_is_refused():
    client = distributed.Client(client_here().scheduler.address, set_as_default=False)
    client.close()
    with pytest.raises(InvalidParameter, match="the Dask client is closed; create another"):
        LinearSVM().fit(da.zeros((N, 2), chunks=(10, -1)), KINDS, client=client)
