"""How Sphinx builds the site; ``make docs`` runs it. Why Sphinx and why this way: decisions/0015-site.md."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

os.environ["MPLBACKEND"] = "agg"  # pictures are drawn into files, never into a window
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from numpydoc.xref import DEFAULT_LINKS  # noqa: E402

import maxmargin  # noqa: E402
from maxmargin.presentation.palette import DARK, LIGHT, Palette  # noqa: E402


def colours(palette: Palette) -> dict[str, str]:
    """Return the theme's colours, which are those of all our pictures and pages."""
    return {
        "color-background-primary": palette.paper,
        "color-background-secondary": palette.panel,
        "color-background-border": palette.soft_line,
        "color-foreground-primary": palette.ink,
        "color-foreground-secondary": palette.muted,
        "color-foreground-muted": palette.muted,
        "color-foreground-border": palette.line,
        "color-brand-primary": palette.accent,
        "color-brand-content": palette.accent,
        "color-brand-visited": palette.accent,
        "color-api-name": palette.accent,
        "color-api-pre-name": palette.muted,
        "color-inline-code-background": palette.panel,
        "color-code-background": palette.panel,
        "color-accent": palette.positive_text,
        "color-problematic": palette.ink,
    }


project = "maxmargin"
version = release = maxmargin.__version__
language = "en"
smartquotes = False  # "hinge" is a string

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "accessible_navigation",
    "benchmark_pages",
    "command_help",
    "drawn_by_examples",
    "example_report",
    "plain_docstrings",
    "reference_members",
    "short_cells",
    "stale_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["templates"]
exclude_patterns = ["decisions/README.md", "gallery", "generated/**/*.ipynb"]
default_role = "py:obj"  # `Certificate` in a docstring is a link
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions, which no cache can store

# ------------------------------------------------------------------ words
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# ------------------------------------------------------------------ reference
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings say what the arguments are, in words
autodoc_member_order = "bysource"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Of the words that say what a parameter is, our own classes are links; float and the like stay words.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | {
    name: f"maxmargin.{name}" for name in maxmargin.__all__ if name[0].isupper() and name != "C_from"
}

# ------------------------------------------------------------------ gallery
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"plot_",
    "run_stale_examples": True,  # the script is the same, but the library may draw something else
    "subsection_order": ["gallery/geometry", "gallery/judging", "gallery/steps"],
    "within_subsection_order": "gallery_order.WhatIsSeenFirst",
    "nested_sections": False,
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),  # tables; the plain text of an object would hold its address
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # how long a picture took depends on the machine: not on the page
    "write_computation_times": False,
    "matplotlib_animations": True,
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 360),
    "doc_module": (),
    "reset_modules": ("matplotlib",),
}

# ------------------------------------------------------------------ pages
html_theme = "furo"
html_title = "maxmargin"
html_favicon = "static/favicon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_permalinks_icon = "#"
html_theme_options = {
    "sidebar_hide_name": True,
    "light_logo": "wordmark.svg",
    "dark_logo": "wordmark-on-dark.svg",
    "light_css_variables": colours(LIGHT),
    "dark_css_variables": colours(DARK),
    "navigation_with_keys": True,
    "top_of_page_buttons": [],
}
