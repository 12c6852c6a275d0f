"""Arrays of Python's whole numbers are multiplied by np.dot.

NumPy's @ of objects corrupts memory when an exception comes out of one of its multiplications, and large
integers look for Ctrl-C while they are multiplied: the process then ends with SIGABRT or SIGSEGV.
"""

import ast
from pathlib import Path

import grimp
from covering import each_row

import maxmargin

EXACT = ("maxmargin.core.exact.arithmetic", "maxmargin.core.exact.systems")


def modules() -> list[str]:
    graph = grimp.build_graph("maxmargin", cache_dir=None)
    importing = {name for exact in EXACT for name in graph.find_modules_that_directly_import(exact)}
    return sorted(importing | set(EXACT))


@each_row("module", modules())
def test_no_matrix_product_by_its_sign(module):
    path = Path(maxmargin.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult)
    ]
    assert lines == []
