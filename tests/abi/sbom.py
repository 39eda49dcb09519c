"""The bill of materials of the build: an SPDX 2.3 document with all its parts. It names every library that the
dynamic linker would load, and a second run writes the same bytes.

usage: sbom.py READELF SCRIPT FILE LIBRARY [TOOL] -- ARGUMENTS OF THE SCRIPT
SPDX-License-Identifier: MIT
"""
import json
import re
import subprocess
import sys

import public

# Names of ELF files -> names in the document; the C and C++ runtimes belong to the system.
NAMES = {"libcpuinfo": "cpuinfo", "libfmt": "fmt", "libre2": "re2", "libedit": "libedit", "libnettle": "nettle",
         "libmicrohttpd": "libmicrohttpd", "libggufx": "libggufx"}
SYSTEM = {"libc", "libm", "libstdc++", "libgcc_s", "libpthread", "libdl", "ld-linux-x86-64", "ld-linux-aarch64",
          "libasan", "libubsan", "libtsan", "libgnutls"}


def needed(readelf, binary):
    told = subprocess.run([readelf, "-d", binary], capture_output=True, text=True, check=True).stdout
    return {re.match(r"[\w+\-]+", name)[0] for name in re.findall(r"NEEDED.*\[(.*?)\.so", told)}


def faults_of(document, linked):
    ids = [part["SPDXID"] for part in document["packages"]]
    if document["spdxVersion"] != "SPDX-2.3" or document["dataLicense"] != "CC0-1.0":
        yield "the document is not of SPDX 2.3"
    if len(set(ids)) != len(ids):
        yield "two parts have one identifier"
    for identifier in ids:
        if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.\-]+", identifier):
            yield "%s is no identifier" % identifier
    for one in document["relationships"]:
        for end in (one["spdxElementId"], one["relatedSpdxElement"]):
            if end not in [*ids, "SPDXRef-DOCUMENT"]:
                yield "%s is in a relation but no part" % end
    for part in document["packages"]:
        if not part["versionInfo"] or not part["licenseDeclared"]:
            yield "%s has no version or licence" % part["name"]
    names = {part["name"] for part in document["packages"]}
    for name in sorted(linked - SYSTEM):
        if NAMES.get(name, name) not in names:
            yield "%s is linked and not named" % name


def main():
    cut = sys.argv.index("--")
    readelf, script, file, *binaries = sys.argv[1:cut]
    text = open(file, encoding="utf-8").read()
    again = subprocess.run([sys.executable, script, *sys.argv[cut + 1:]], capture_output=True, text=True, check=True)
    linked = set().union(*(needed(readelf, binary) for binary in binaries))
    faults = list(faults_of(json.loads(text), linked))
    if again.stdout != text:
        faults.append("written again, it has other bytes")
    public.finish("bill of materials", faults, len(linked))


main()
