"""Write the bill of materials of a build as SPDX 2.3: this project, what its files were linked with, and
what they load when they run. The same build gives the same bytes.

usage: sbom.py VERSION [NAME|VERSION|LICENSE|HOW|PART...] > ggufx.spdx.json
HOW: links, loads or builds-with; PART: library or tool
SPDX-License-Identifier: MIT
"""
import hashlib
import json
import os
import sys
import time

RELATION = {"links": "DYNAMIC_LINK", "loads": "OPTIONAL_DEPENDENCY_OF", "builds-with": "BUILD_DEPENDENCY_OF"}


def package(name, version, license_name):
    return {"SPDXID": "SPDXRef-" + name.replace("_", "-"), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": license_name,
            "licenseDeclared": license_name, "copyrightText": "NOASSERTION"}


def relation(how, mine, other):
    """Of a part of ours and something else; what is optional or for building points the other way."""
    kind = RELATION[how]
    first, second = (other, mine) if kind.endswith("_OF") else (mine, other)
    return {"spdxElementId": "SPDXRef-" + first, "relationshipType": kind, "relatedSpdxElement": "SPDXRef-" + second}


def document(version, dependencies):
    ours = {"library": package("libggufx", version, "MIT"), "tool": package("ggufx", version, "MIT")}
    others = {}
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-" + part["name"]} for part in ours.values()]
    relations.append(relation("links", "ggufx", "libggufx"))
    for text in dependencies:
        name, its_version, license_name, how, part = text.split("|")
        others[name] = package(name, its_version, license_name)
        relations.append(relation(how, ours[part]["name"], name.replace("_", "-")))
    body = {"packages": [*ours.values(), *(others[name] for name in sorted(others))], "relationships": relations}
    # No clock of this machine: that of the release, where the builder names one (SOURCE_DATE_EPOCH).
    created = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": "ggufx-" + version, "documentNamespace": "urn:ggufx:%s:%s" % (version, digest[:32]),
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created),
                             "creators": ["Tool: pkgconfig/sbom.py"]}, **body}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    json.dump(document(sys.argv[1], sys.argv[2:]), sys.stdout, indent=1)
    print()
