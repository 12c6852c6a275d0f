"""The page about model files names everything that is in them, and nothing else."""

import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from maxmargin import export_onnx, load_data, load_model, save_model, train
from maxmargin.encoding import Encoding, SourceColumn
from maxmargin.io.models import VERSION

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "model-format.md").read_text(encoding="utf-8")

X = np.array([[0.0, 1.0], [1.0, 0.5], [0.4, -1.0], [3.0, 0.3], [4.0, -2.0], [2.0, 2.0]])
Y = np.array([-1, -1, -1, 1, 1, 1])
SIZES = Encoding((SourceColumn("size", "categories", ("large", "small")),))


@pytest.fixture
def description(tmp_path):
    """The description of a model that has everything a model can have."""
    y = [0, 0, 1, 1, 2, 2]
    model = train(X, y, calibrate="sigmoid", class_weight={1: 2.0}, sample_weight=[1, 1, 2, 1, 1, 1])
    names = ("certificates", "statuses", "plans", "n_iter")
    joint = {name: getattr(model, name)[:1] for name in names} | {"multi_class": "crammer_singer"}
    save_model(replace(model, encoding=SIZES, l1_ratio=0.5, **joint), tmp_path / "a.model")
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        return json.loads(archive.read("model.json"))


def names_in_table(heading):
    """Return what stands in the first column of the table with this heading."""
    table = PAGE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\| `?(\w+)`? \|", table, flags=re.MULTILINE)


def test_every_field_is_explained(description):
    assert sorted(names_in_table("field of the header")) == sorted(description["header"])


def test_parts_of_fields_are_explained(description):
    header = description["header"]
    for field, parts in (
        ("certificates", header["certificates"][0]),
        ("plans", header["plans"][0]),
        ("calibration", header["calibration"]),
    ):
        (line,) = re.findall(rf"^\| `{field}` \|.*$", PAGE, flags=re.MULTILINE)
        assert set(parts) <= set(re.findall(r"`(\w+)`", line))


def test_every_array_is_explained(description):
    assert sorted(names_in_table("array")) == description["arrays"]


def test_every_version_is_explained(description):
    assert description["version"] == VERSION
    assert names_in_table("version") == [str(version) for version in range(1, VERSION + 1)]
    assert {path.stem.split("-")[1] for path in (ROOT / "tests" / "data").glob("*.model")} == set(
        names_in_table("version")
    )


# ---------------------------------------------------------------- ONNX and tables


def features_of(row, encoding):
    """The features of a row of a table, from the metadata of an ONNX file and nothing of ours."""
    found = []
    for column in encoding["columns"]:
        value = row.get(column["name"])
        value = column.get("fill") if value in (None, "") else value
        if column["kind"] == "number":
            found.append(float(value))
        elif column["kind"] == "categories":
            found += [float(value == category) for category in column["categories"]]
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_metadata_of_an_onnx_file_tell_how_a_table_becomes_features(tmp_path, dtype):
    import onnxruntime

    rows = [
        {"area": "1.5", "street": "A", "town": "Bonn"},
        {"area": "", "street": "B", "town": "Ulm"},
        {"area": "0.25", "street": "", "town": ""},
        {"area": "3", "street": "C", "town": "Köln"},
    ]
    lines = ["area,street,town", *(",".join(row.values()) for row in rows)]
    (tmp_path / "rows.csv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    model = load_model(ROOT / "tests" / "data" / "houses-3.model")
    expected = load_data(tmp_path / "rows.csv", encoding=model.encoding).X
    expected = expected.toarray() if hasattr(expected, "toarray") else expected
    export_onnx(model, tmp_path / "a.onnx", dtype=dtype)
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    notes = session.get_modelmeta().custom_metadata_map
    features = np.array([features_of(row, json.loads(notes["maxmargin.encoding"])) for row in rows])
    np.testing.assert_array_equal(features, expected)
    assert session.get_inputs()[0].shape[1] == len(json.loads(notes["maxmargin.feature_names"])) == 4
    label, probabilities = session.run(["label", "probabilities"], {"X": features.astype(dtype)})
    np.testing.assert_array_equal(label, model.predict(expected))
    np.testing.assert_allclose(probabilities, model.predict_proba(expected), rtol=1e-5)
