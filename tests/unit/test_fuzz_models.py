"""Any bytes as a model file: a model that works or an error of ours, in memory that its size bounds."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from covering import every_value
from damage import archive_of, changes, damaged, edits, entries_of, memory_bounded, with_changed_json
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import load_model, save_model
from maxmargin.errors import ModelFileError

GOLDEN = Path(__file__).parents[1] / "data"
OURS = {path.stem: path.read_bytes() for path in sorted(GOLDEN.glob("*.model"))}
LIBLINEAR = b"solver_type L2R_LR\nnr_class 3\nlabel 1 -1 7\nnr_feature 2\nbias 1\nw\n1 2 3\n4 5 6\n7 8 9\n"
ALL = {**OURS, "LIBLINEAR": LIBLINEAR}

pytestmark = pytest.mark.fuzz


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Where a model is put; everything that reading one imports has been imported."""
    path = tmp_path_factory.mktemp("fuzzed") / "a.model"
    for content in ALL.values():
        path.write_bytes(content)
        use(load_model(path), path)
    return path


def try_to_load(file, content):
    """Load the content as a model: an error of ours, or a model that works."""
    file.write_bytes(content)
    # A value of JSON, of two letters, is an object of a hundred bytes.
    with memory_bounded(2_000_000 + 100 * len(content)):
        try:
            model = load_model(file)
        except ModelFileError as error:
            refusal, model = error, None
    if model is None:
        assert refusal.path == file
        assert len(str(refusal)) < 1000
    else:
        use(model, file)
    return model


def use(model, file):
    """Whatever was loaded can be shown, asked and saved, and is the same when it is loaded again."""
    assert repr(model)
    assert np.isfinite(model.coef).all()
    rows = np.zeros((2, model.coef.shape[1]))
    assert set(model.predict(rows).tolist()) <= set(model.classes.tolist())
    if model.has_probabilities and len(model.classes) > 1:
        np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)
    again = file.with_name("again.model")
    save_model(model, again)
    np.testing.assert_array_equal(load_model(again).coef, model.coef)


@given(st.sampled_from(sorted(ALL)), edits)
def test_damaged_bytes(file, name, chosen):
    try_to_load(file, damaged(ALL[name], chosen))


@given(st.sampled_from(sorted(OURS)), changes)
def test_other_values_in_the_description(file, name, chosen):
    try_to_load(file, with_changed_json(OURS[name], "model.json", chosen))


@given(st.sampled_from(sorted(OURS)), st.integers(0, 20), edits)
def test_damaged_entries_with_right_checksums(file, name, number, chosen):
    entries = entries_of(OURS[name])
    entry = sorted(entries)[number % len(entries)]
    entries[entry] = damaged(entries[entry], chosen)
    try_to_load(file, archive_of(entries))


@given(st.sampled_from(sorted(OURS)), st.data())
def test_arrays_in_each_others_place(file, name, data):
    entries = entries_of(OURS[name])
    contents = data.draw(st.permutations(sorted(entries.values())))
    try_to_load(file, archive_of(dict(zip(sorted(entries), contents, strict=True))))


@given(st.binary(max_size=200), st.sampled_from([b"", b"PK\x03\x04", b"solver_type ", LIBLINEAR[:60]]))
def test_any_bytes(file, content, beginning):
    try_to_load(file, beginning + content)


# ---------------------------------------------------------------- small files that claim a lot


def npy_claiming(shape, dtype="<f8"):
    file = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue() + b"\0" * 16


CLAIMS = {
    "a terabyte": npy_claiming((2**37,)),
    "more than there are addresses": npy_claiming((2**40, 2**40)),
    "a product that overflows to 16": npy_claiming((2**63, 2, 2)),
    "nothing, very often": npy_claiming((0, 2**62))[:-16],
    "more dimensions than arrays have": npy_claiming((1,) * 70 + (2,)),
    "text without letters": npy_claiming((2**40,), "<U0"),
    "negative": npy_claiming((-2, -1)),
}


@every_value(place=["coef", "classes", "support_indices"], claim=CLAIMS.values())
def test_an_array_that_claims_what_it_has_not(file, place, claim):
    entries = entries_of(OURS["tumours-1"])
    assert try_to_load(file, archive_of({**entries, f"{place}.npy": claim})) is None


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_unpacks_to_a_thousand_times_its_size(file, packing):
    entries = entries_of(OURS["tumours-1"])
    bomb = archive_of({**entries, "coef.npy": bytes(20_000_000)}, compression=packing)
    assert try_to_load(file, bomb) is None


def test_an_entry_that_claims_a_size_of_its_own(file):
    content = archive_of(entries_of(OURS["tumours-1"]))
    directory = content.index(b"PK\x01\x02")
    for place in (20, 24):  # sizes, packed and unpacked, of the first entry
        for size in (0, 1, 2**31, 2**32 - 2, 2**32 - 1):
            changed = bytearray(content)
            changed[directory + place : directory + place + 4] = size.to_bytes(4, "little")
            try_to_load(file, bytes(changed))


@pytest.mark.parametrize("value", ["[" * 50_000 + "]" * 50_000, '{"a":' * 50_000 + "1" + "}" * 50_000])
def test_a_description_that_is_deep(file, value):
    entries = entries_of(OURS["tumours-1"])
    description = json.loads(entries["model.json"])
    description["header"]["label"] = "HERE"
    entries["model.json"] = json.dumps(description).replace('"HERE"', value).encode()
    assert try_to_load(file, archive_of(entries)) is None


def test_numbers_with_very_many_digits(file):
    entries = entries_of(OURS["tumours-1"])
    description = json.loads(entries["model.json"])
    for number in ("9" * 200_000, "1e" + "9" * 200_000, "0." + "0" * 200_000 + "1"):
        description["header"]["tol"] = "HERE"
        text = json.dumps(description).replace('"HERE"', number)
        entries["model.json"] = text.encode()
        try_to_load(file, archive_of(entries))


def test_an_array_named_a_hundred_thousand_times_is_read_once_at_most(file):
    entries = entries_of(OURS["tumours-1"])
    description = json.loads(entries["model.json"])
    description["arrays"] = ["coef"] * 100_000
    entries["model.json"] = json.dumps(description).encode()
    assert try_to_load(file, archive_of(entries)) is None


def test_names_of_entries_lead_nowhere(file):
    entries = entries_of(OURS["tumours-1"])
    description = json.loads(entries["model.json"])
    for name in ("../escaped", "/tmp/escaped", "..\\escaped", "a/../../escaped"):
        description["arrays"] = [*json.loads(entries["model.json"])["arrays"], name]
        more = {"model.json": json.dumps(description).encode(), f"{name}.npy": npy_claiming((2,))}
        before = sorted(path.name for path in file.parent.parent.iterdir())
        assert try_to_load(file, archive_of({**entries, **more})) is not None  # an array that nobody asks for
        assert sorted(path.name for path in file.parent.parent.iterdir()) == before
        assert sorted(path.name for path in file.parent.iterdir()) == ["a.model", "again.model"]
