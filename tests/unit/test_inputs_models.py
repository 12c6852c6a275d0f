"""Model files: round trips, fixed bytes, and every way in which a file can be wrong."""

import io
import json
import math
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.errors import InvalidInput, MissingFile, ModelFileError, UnreadableFile
from maxmargin.io.models import read_model, write_model

HEADER = {
    "loss": "hinge",
    "C": 1.5,
    "limit": math.inf,
    "names": ["a", "inf"],
    "nested": {"none": None, "yes": True},
}
ARRAYS = {"coef": np.array([[1.0, -0.0, np.inf]]), "classes": np.array(["benign", "é"])}


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "a.model"
    write_model(path, HEADER, ARRAYS)
    return path


def rewritten(path, entries, **settings):
    """Write an archive with these entries instead of a model's own."""
    with zipfile.ZipFile(path, "w", **settings) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def entries_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def message_for(path):
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert caught.value.path == path
    return caught.value.message


def test_what_is_written_is_read_back(model):
    header, arrays = read_model(model)
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.flags.writeable
        assert array.flags.c_contiguous
    assert math.copysign(1, arrays["coef"][0, 1]) == -1


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(8)[::2],
        np.arange(3, dtype=">i4"),
        np.array(2.5),
        np.empty((0, 4)),
        np.array([True, False]),
        np.array([], dtype="<U1"),
        np.float32([1, 2]),
    ],
)
def test_arrays_of_all_shapes_and_orders(tmp_path, array):
    write_model(tmp_path / "m", {}, {"a": array})
    _, arrays = read_model(tmp_path / "m")
    np.testing.assert_array_equal(arrays["a"], array)
    assert arrays["a"].shape == array.shape
    assert arrays["a"].dtype == array.dtype.newbyteorder("=")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text().filter(lambda key: key != "$float"), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=60)
@given(header=st.dictionaries(st.text().filter(lambda key: key != "$float"), json_values, max_size=4))
def test_headers_of_all_kinds(tmp_path_factory, header):
    path = tmp_path_factory.getbasetemp() / "header.model"
    write_model(path, header, {})
    assert repr(sorted(read_model(path)[0].items())) == repr(sorted(sort_keys(header).items()))


def sort_keys(value):
    if isinstance(value, dict):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    return [sort_keys(item) for item in value] if isinstance(value, list) else value


def test_scalars_of_numpy_and_tuples_become_plain(tmp_path):
    header = {
        "a": np.float64(0.1),
        "b": np.int64(3),
        "c": np.bool_(True),
        "d": np.str_("x"),
        "e": (1, -np.inf),
    }
    write_model(tmp_path / "m", header, {})
    read, _ = read_model(tmp_path / "m")
    assert read == {"a": 0.1, "b": 3, "c": True, "d": "x", "e": [1, -math.inf]}
    assert [type(value) for value in read.values()] == [float, int, bool, str, list]


def test_the_same_model_gives_the_same_bytes(tmp_path, model):
    again = tmp_path / "again"
    write_model(again, dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items())))
    assert again.read_bytes() == model.read_bytes()
    with zipfile.ZipFile(model) as archive:
        assert archive.namelist() == ["model.json", "classes.npy", "coef.npy"]
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_description_is_strict_json(model):
    description = json.loads(entries_of(model)["model.json"], parse_constant=pytest.fail)
    assert (description["format"], description["version"]) == ("maxmargin-model", 1)
    assert description["header"]["limit"] == {"$float": "inf"}
    assert description["arrays"] == ["classes", "coef"]


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"a": [1, {2}]}, {}, "header['a'][1]: a set cannot be kept in a model file"),
        ({"a": np.ones(2)}, {}, "header['a']: a ndarray cannot be kept in a model file"),
        ({"a": {1: 2}}, {}, "header['a']: the key 1 cannot be kept in a model file"),
        ({"a": "\ud800"}, {}, "header['a']: '\\ud800' has half a letter in it, which cannot be written"),
        ({"\ud800": 1}, {}, "header: '\\ud800' has half a letter in it, which cannot be written"),
        ({}, {"a": np.array(["\ud800"])}, "the array 'a' has text with half a letter in it"),
        ({"$float": 1}, {}, "header: the key '$float' cannot be kept in a model file"),
        ({}, {"a": np.array([None])}, "the array 'a' of type object cannot be kept in a model file"),
        ({}, {"a": np.array([1j])}, "the array 'a' of type complex128 cannot be kept in a model file"),
        ({}, {"../a": np.ones(1)}, "an array's name is a lower-case identifier; got '../a'"),
        ({}, {"A": np.ones(1)}, "an array's name is a lower-case identifier; got 'A'"),
    ],
)
def test_what_cannot_be_kept_is_not_written(tmp_path, header, arrays, message):
    with pytest.raises(InvalidInput) as caught:
        write_model(tmp_path / "m", header, arrays)
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(MissingFile, match="no such file"):
        read_model(tmp_path / "m")
    with pytest.raises(UnreadableFile, match="is a folder"):
        read_model(tmp_path)
    with pytest.raises(MissingFile, match="there is no folder"):
        write_model(tmp_path / "none" / "m", {}, {})


@pytest.mark.parametrize("content", [b"", b"1 1:2\n", b"PK", b"\x80\x04N."])
def test_other_files_are_no_models(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    assert message_for(tmp_path / "m") == "not a maxmargin model file"


@pytest.mark.parametrize(
    "entries",
    [{"readme.txt": b""}, {"model.json": b"[]"}, {"model.json": b'{"format": "other", "version": 1}'}],
)
def test_other_archives_are_no_models(tmp_path, entries):
    assert message_for(rewritten(tmp_path / "m", entries)) == "not a maxmargin model file"


def test_compressed_entries_are_refused(tmp_path, model):
    bomb = rewritten(tmp_path / "m", entries_of(model), compression=zipfile.ZIP_DEFLATED)
    assert message_for(bomb).endswith("(an entry is packed or encrypted)")


def test_a_newer_version_says_so(model):
    entries = entries_of(model)
    entries["model.json"] = entries["model.json"].replace(b'"version": 1', b'"version": 6')
    assert message_for(rewritten(model, entries)) == (
        "written by a newer maxmargin (format 6); this one reads up to 5 and needs an update"
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"version": 1', b'"version": "1"', "version '1'"),
        (b'"version": 1', b'"version": true', "version True"),
        (b'"version": 1', b'"version": 0', "version 0"),
        (b'"version": 1', b'"version": NaN', "model.json: NaN is not JSON"),
        (b'"version": 1', b'"version": ', "model.json: Expecting value"),
        (b'"$float": "inf"', b'"$float": [1]', "model.json: $float must be inf, -inf or nan"),
        (b'"arrays"', b'"arrais"', "model.json"),
        (b'"header"', b'"heather"', "model.json"),
        (b'"coef"', b"7", "model.json"),
        (b'"coef"', b'"cow"', 'the array "cow" is missing'),
        (b'"coef"', b'"coef", "coef"', "model.json"),
        (b'"hinge"', b'"\xff"', "model.json: 'utf-8' codec"),
        (b'"hinge"', b"[" * 100000 + b"]" * 100000, "model.json: it is nested too deeply"),
    ],
)
def test_damaged_descriptions(model, old, new, reason):
    entries = entries_of(model)
    assert old in entries["model.json"]
    entries["model.json"] = entries["model.json"].replace(old, new)
    message = message_for(rewritten(model, entries))
    assert message.startswith(f"the model file is damaged or cut short ({reason}")


def npy(array, **settings):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **settings)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.array([print])), "it is of type object, which such files do not hold)"),
        (npy(np.array([1j])), "it is of type complex128, which such files do not hold)"),
        (npy(np.array([(1, 2)], dtype="i4,i4")), "which such files do not hold)"),
        (npy(np.array([""]))[:128].replace(b"<U1", b"<U0"), "it is of type <U0, which such"),
        (npy(np.ones(3))[:-1], "it has 23 bytes, too few or too many for 3)"),
        (npy(np.ones(3)).replace(b"(3,)", b"(9**9,)"), ""),
        (npy(np.ones(9)).replace(b"(9,), } ", b"(-9,), }"), "it has 72 bytes, too few or too many for -9)"),
        (npy(np.ones(3)).replace(b"(3,), }      ", b"(3000000,), }"), "it has 24 bytes, too few or too many"),
        (npy(np.ones((0, 3))).replace(b"3), } " + b" " * 20, b"%d), } " % 10**20), "no array has the shape"),
        (npy(np.array(["é"])).replace("é".encode("utf-32-le"), b"\0\0\x11\0"), "invalid characters"),
        (npy(np.array(["é"])).replace("é".encode("utf-32-le"), b"\0\xd8\0\0"), "invalid characters"),
        (npy(np.ones(3), version=(2, 0)), "unknown version"),
        (
            npy(np.ones(3)).replace(b"(3,), } ", b"(3L,), }"),
            "invalid decimal literal",
        ),  # as Python 2 wrote it
        (npy(np.ones(3)).replace(b"{'descr'", b"\n {'desc'"), "unexpected indent"),
        (b"no array", ""),
        (b"", ""),
    ],
)
def test_damaged_and_dangerous_arrays(model, content, message):
    entries = entries_of(model)
    entries["coef.npy"] = content
    found = message_for(rewritten(model, entries))
    assert found.startswith('the model file is damaged or cut short (the array "coef": ')
    assert message in found


def test_arrays_stored_column_by_column_are_read(model):
    entries = entries_of(model)
    entries["coef.npy"] = npy(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    rewritten(model, entries)
    assert read_model(model)[1]["coef"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_model_cut_short_is_damaged(model):
    content = model.read_bytes()
    for length in range(4, len(content)):
        model.write_bytes(content[:length])
        assert message_for(model).startswith("the model file is damaged or cut short (")


def test_a_flipped_bit_in_the_content_is_found(model):
    content = bytearray(model.read_bytes())
    content[content.index(b"hinge")] ^= 1
    model.write_bytes(content)
    assert message_for(model).startswith("the model file is damaged or cut short (Bad CRC-32")


def test_flipped_bytes_anywhere_are_read_or_refused(model):
    content = model.read_bytes()
    for place in range(len(content)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(content)
            changed[place] ^= flip
            model.write_bytes(changed)
            with suppress(ModelFileError):
                read_model(model)
