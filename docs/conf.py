"""Settings of the documentation site; `./dev docs` builds it."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import qtkm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
# Examples run on data of installed packages, whatever the machine has beside them.
NO_DATA = HERE / "_build" / "no-data"
NO_DATA.mkdir(parents=True, exist_ok=True)
os.environ["QTKM_DATA_HOME"] = str(NO_DATA)

project = "qtkm"
author = "qtkm developers"
copyright = author
version = release = qtkm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "executed",
    "mathml",
    "plain_docstrings",
]
exclude_patterns = ["_build", "_templates", "examples"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False
# Names in single backticks become links where there is something to link to.
default_role = "py:obj"
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    ("py:class", r"qtkm\.solvers\.\w+\.\w*State"),
    ("py:class", r"qtkm\.networks\.(\w+\.)+\w*Tables"),
]

# Pages
executed_pages = [
    "index", "start", "guide/quantization", "guide/choosing", "guide/parts", "guide/large-data",
    "extend/loss", "extend/network",
]  # fmt: skip
copybutton_selector = "div:not(.output) > div.highlight > pre"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "qtkm"
html_static_path = ["_static"]
html_css_files = ["qtkm.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"start": [], "command-line": [], "changelog": []}

# Reference
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {"top_level": sorted(qtkm.__all__)}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Figures of the guide
plot_formats = [("png", 110)]
plot_html_show_source_link = True
plot_include_source = False
plot_template = """
{% for img in images %}
.. figure:: {{ build_dir }}/{{ img.basename }}.{{ default_fmt }}
   {% for option in options -%}
   {{ option }}
   {% endfor %}

   :download:`Script of this figure <{{ build_dir }}/{{ src_name }}>`
{% endfor %}
"""
plot_rcparams = {"figure.constrained_layout.use": True}

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "copyfile_regex": r".*\.rst",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "default_thumb_file": None,
}


def write_command_line(app):
    """Describe the commands and their options as typer knows them."""
    words = ["qtkm.cli.app", "utils", "docs", "--name", "qtkm"]
    done = subprocess.run(
        [sys.executable, "-m", "typer", *words], capture_output=True, text=True, check=True
    )
    _, _, commands = done.stdout.partition("\n## ")
    target = HERE / "_build" / "command-line.md"
    target.write_text(f"## {commands}".replace("```console", "```text"), "utf-8")


def leave_out_foreign(app, kind, name, obj, skip, options):
    """Leave out what scikit-learn or Python itself documents."""
    function = getattr(obj, "fget", obj)
    module = getattr(inspect.unwrap(function) if callable(function) else obj, "__module__", None)
    return True if module is not None and not module.startswith("qtkm") else None


def setup(app):
    """Register what the site needs beside its extensions."""
    app.connect("builder-inited", write_command_line)
    app.connect("autodoc-skip-member", leave_out_foreign)
