"""What was stored, beside what `load_data` reads into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import Data, load_data, store_data
from maxmargin.errors import MaxMarginError
from maxmargin.rows.disk.store import RowStore


def dense_rows(store: RowStore) -> Any:
    """Return all rows of a store as an array."""
    arrays = store.arrays
    if not store.is_sparse:
        return np.asarray(arrays["X"])
    parts = (arrays["values"], arrays["columns"], arrays["starts"])
    return sp.csr_array(parts, shape=(store.n_rows, store.n_columns)).toarray()


def check_same(path: Path, folder: Path, **settings: Any) -> tuple[RowStore, Data]:
    """Store a file and read it: every value, label, weight, name and the encoding must be the same bits."""
    store = store_data(path, folder, **settings)
    data = load_data(path, **settings)
    X = data.X.toarray() if store.is_sparse else data.X
    assert dense_rows(store).tobytes() == np.ascontiguousarray(X, dtype=dense_rows(store).dtype).tobytes()
    assert store.is_sparse == hasattr(data.X, "nnz")
    np.testing.assert_array_equal(store.classes[store.arrays["labels"]], data.y)
    assert store.classes.tolist() == data.classes.tolist()
    assert store.feature_names == data.feature_names
    assert store.encoding == data.encoding
    assert (store.source["scheme"], store.source["label"]) == (data.scheme, data.label)
    assert ("weights" in store.arrays) == (data.sample_weight is not None)
    if data.sample_weight is not None:
        np.testing.assert_array_equal(store.arrays["weights"], data.sample_weight)
    store.check()
    return store, data


def check_same_error(path: Path, folder: Path, **settings: Any) -> str:
    """Neither may read the file, and both must say the same; nothing is left behind."""
    with pytest.raises(MaxMarginError) as theirs:
        load_data(path, **settings)
    with pytest.raises(type(theirs.value)) as ours:
        store_data(path, folder, **settings)
    assert str(ours.value) == str(theirs.value)
    assert not folder.exists()
    assert not list(folder.parent.glob(".*"))
    return str(ours.value)
