"""The documentation, by Sphinx: `make docs` builds build/docs; a warning is an error.

Sphinx rather than MkDocs: MkDocs has had no feature release since 2024, and Material for MkDocs is in maintenance.
"""

import importlib.metadata

project = "irwidget"
author = "the irwidget authors"
copyright = "the irwidget authors"
version = release = importlib.metadata.version("irwidget")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["images"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nitpicky = False
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = False  # it reads the source, and the signature of `lower` is that of its options
autodoc_default_options = {"members": True, "undoc-members": False}

html_theme = "furo"
html_title = f"irwidget {release}"
html_show_sphinx = False
