"""Sphinx settings of the documentation: Markdown pages, search, light and dark; names of the API link to the reference
that doxygen makes of the headers (meson option `docs`).

SPDX-License-Identifier: MIT
"""
import os
import re
import xml.etree.ElementTree

from docutils import nodes

project = "libggufx"
version = release = os.environ.get("GGUFX_VERSION", "")
copyright = "the libggufx authors, MIT licence"  # noqa: A001 (name of Sphinx)
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
exclude_patterns = ["meson.build", "conf.py"]
html_theme = "furo"
html_title = f"libggufx {version}".strip()
html_copy_source = html_show_sourcelink = False
html_css_files = ["wide_tables.css"]
html_js_files = ["theme.js"]
html_static_path = ["static"]
highlight_language = "none"  # of blocks without a language, such as formulas


def reference_names(path):
    """Names of functions, structs and constants -> pages of the reference, from doxygen's tag file."""
    names = {}
    for compound in xml.etree.ElementTree.parse(path).getroot():
        page = compound.findtext("filename", "")
        if compound.get("kind") == "struct":
            names[compound.findtext("name")] = page
        for member in compound.iter("member"):
            file, anchor = member.findtext("anchorfile"), member.findtext("anchor")
            names[member.findtext("name")] = f"{file}#{anchor}"
            for value in member.iter("enumvalue"):
                names[value.text] = f"{value.get('anchorfile')}#{value.get('anchor')}"
    return {name: page for name, page in names.items() if re.match(r"(?i)ggufx_", name or "")}


def link_names(app, doctree, page):
    """Make links of code words that are names of the API."""
    up = "../" * page.count("/")
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext().removesuffix("()")
        target = "index.html" if name == "api/index.html" else app.config.reference.get(name)
        if target and not isinstance(literal.parent, nodes.reference):
            link = nodes.reference("", "", internal=False, refuri=f"{up}api/{target}")
            literal.replace_self(link)
            link += literal


def setup(app):
    tagfile = os.environ.get("GGUFX_TAGFILE")
    app.add_config_value("reference", reference_names(tagfile) if tagfile else {}, "html")
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
