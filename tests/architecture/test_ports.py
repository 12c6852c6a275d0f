"""Clusters of tests and pages take whatever port is free: 8787 may be somebody else's.

Dask takes that one for its pages unless it is told another, `None` included; where it is in use it warns.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLUSTER = re.compile(r"\b(?:LocalCluster\(|Client\(processes=)[^)]*\)")
ANY_PORT = re.compile(r'dashboard_address="[^"]*:0"|\*\*(?:told|ALONE)')


def test_every_cluster_takes_a_free_port():
    files = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md")]
    made = {
        (path.relative_to(ROOT).as_posix(), call)
        for path in files
        if path.name != Path(__file__).name
        for call in CLUSTER.findall(path.read_text(encoding="utf-8"))
    }
    assert len(made) >= 5
    assert {place for place in made if not ANY_PORT.search(place[1])} == set()
