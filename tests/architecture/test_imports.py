"""Who may import what, beyond the layers: rules that hold for packages that do not exist yet as well."""

import grimp
import pytest

# Third-party packages that only one of our packages knows.
KNOWN_ONLY_TO = {
    "sklearn": "maxmargin.estimators",
    "matplotlib": "maxmargin.displays",
    "jinja2": "maxmargin.reporting",
    "pyarrow": "maxmargin.io.tables",
    "onnx": "maxmargin.interop",
    "dask": "maxmargin.rows.dask",
    "distributed": "maxmargin.rows.dask",
}

# Packages that may import only these of ours (and their own modules): of displays records, not what computes.
IMPORTS_ONLY = {
    "maxmargin.displays": (
        "maxmargin.core.solution",
        "maxmargin.data",
        "maxmargin.errors",
        "maxmargin.learners.trace",
        "maxmargin.model.parameters",
        "maxmargin.model.reliability",
        "maxmargin.presentation",
        "maxmargin.rows.disk.atomic",
        "maxmargin.selection.folds.record",
        "maxmargin.selection.leave_one_out.record",
        "maxmargin.selection.leave_one_out.search_record",
        "maxmargin.selection.path.record",
        "maxmargin.validation",
    ),
}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("maxmargin", include_external_packages=True, cache_dir=None)


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@pytest.mark.parametrize("outside", KNOWN_ONLY_TO)
def test_outside_package_is_known_to_one_of_ours(graph, outside):
    importers = graph.find_modules_that_directly_import(outside) if outside in graph.modules else set()
    assert {name for name in importers if not is_within(name, KNOWN_ONLY_TO[outside])} == set()


@pytest.mark.parametrize("package", IMPORTS_ONLY)
def test_package_imports_only_what_it_may(graph, package):
    allowed = (package, *IMPORTS_ONLY[package])
    imported = {
        (importer, name)
        for importer in graph.modules
        if is_within(importer, package)
        for name in graph.find_modules_directly_imported_by(importer)
        if is_within(name, "maxmargin") and not any(is_within(name, one) for one in allowed)
    }
    assert imported == set()
