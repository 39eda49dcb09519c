#!/usr/bin/env python3
# Embeds the web page and the OpenAPI description in a C++ source file: embed.py PAGE OPENAPI OUT
# SPDX-License-Identifier: MIT
import base64
import hashlib
import json
import re
import sys

MOST_PAGE = 40 << 10  # bytes: it is sent whole, and read by people

LITERAL = 8000  # characters of a piece: compilers need not take literals of more than 64 KiB, joined ones included


def literals(text):
    return ",\n".join('        R"page(%s)page"' % text[i:i + LITERAL] for i in range(0, len(text), LITERAL))


def hash_of(page, tag):
    found = re.findall(r"<%s>(.*?)</%s>" % (tag, tag), page, re.S)
    if len(found) != 1:
        sys.exit("the page has %d <%s>, not one" % (len(found), tag))
    return "sha256-" + base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()


def main(page_path, openapi_path, out_path):
    with open(page_path, encoding="utf-8", newline="") as file:
        page = file.read()
    if len(page.encode()) > MOST_PAGE:
        sys.exit("%s has %d bytes, the limit is %d" % (page_path, len(page.encode()), MOST_PAGE))
    with open(openapi_path, encoding="utf-8") as file:
        openapi = json.dumps(json.load(file), separators=(",", ":"), ensure_ascii=False) + "\n"
    values = {"page_html": page, "page_script_hash": hash_of(page, "script"),
              "page_style_hash": hash_of(page, "style"), "openapi_json": openapi}
    with open(out_path, "w", encoding="utf-8", newline="") as out:
        out.write('#include "serve/page.hpp"\n\n#include <initializer_list>\n#include <string>\n\nnamespace ggufx::cli {\n'
                  "namespace {\n\nstd::string joined(std::initializer_list<std::string_view> pieces) {\n    std::string text;\n"
                  "    for (const std::string_view piece : pieces)\n        text += piece;\n    return text;\n}\n\n} // namespace\n")
        for name, text in values.items():
            out.write("\nstd::string_view %s() {\n    static const std::string text = joined({\n%s});\n    return text;\n}\n"
                      % (name, literals(text)))
        out.write("\n} // namespace ggufx::cli\n")


main(*sys.argv[1:])
