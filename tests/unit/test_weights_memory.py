"""Columns whose weights no memory holds, named by a few bytes."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVM, load_data, train
from maxmargin.errors import InvalidInput


def test_a_large_index_is_refused_before_memory_is_asked_for(tmp_path):
    file = tmp_path / "large.svm"
    file.write_text("+1 2000000000000:1\n-1 1:1\n")
    data = load_data(file)
    assert data.X.shape == (2, 2_000_000_000_000)
    for fit in (lambda: train(data), lambda: LinearSVM().fit(data.X, data.y)):
        with pytest.raises(
            InvalidInput, match=r"X has 2,000,000,000,000 columns: .* take 64 TB or more, and"
        ):
            fit()


@pytest.mark.slow
def test_what_fits_is_fitted(monkeypatch):
    X = sp.csr_array((np.array([1.0, -1.0]), (np.array([0, 1]), np.array([0, 11_000_000]))))
    monkeypatch.setattr("maxmargin.io.memory.available_memory", lambda: 8 * 11_000_001 * 4)
    assert train(X, [0, 1]).certificate.relative_gap <= 1e-4
    monkeypatch.setattr("maxmargin.io.memory.available_memory", lambda: 8 * 11_000_001 * 4 - 1)
    with pytest.raises(InvalidInput, match="number columns anew"):
        train(X, [0, 1])
