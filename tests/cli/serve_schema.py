# The OpenAPI description of the server (src/cli/serve/api): requests and answers must conform.
# SPDX-License-Identifier: MIT
import functools
import os
import sys

import tool

sys.path.insert(0, os.path.join(tool.SOURCE, "src", "cli", "serve", "api"))
import api  # noqa: E402

try:
    import jsonschema
except ImportError:  # Debian's python3-jsonschema
    jsonschema = None

checked = {}  # number of answers by path


@functools.lru_cache(None)
def document():
    return api.openapi()


@functools.lru_cache(None)
def validator(*path):
    part = document()
    for name in path:
        part = part[name]
        if "$ref" in part and name.startswith("E"):
            raise AssertionError(path)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": document()["components"], "allOf": [part]}
    return jsonschema.Draft202012Validator(schema)


def described(path):
    """Returns the path as in the description."""
    paths = document()["paths"]
    if path in paths:
        return path
    for prefix, rest in (("/v1/models/", "/v1/models/{id}"), ("/slots/", "/".join(["/slots/{id}", *path.split("/")[3:]]))):
        if path.startswith(prefix) and rest in paths:
            return rest
    return None


def fails(check, value, what):
    errors = list(check.iter_errors(value))
    if errors:
        best = jsonschema.exceptions.best_match(errors)
        raise AssertionError("%s: %s at %s" % (what, best.message[:300], list(best.absolute_path)))


def of_requests(path, verb="post"):
    return validator("paths", described(path), verb, "requestBody", "content", "application/json", "schema")


def is_described(path, body):
    return of_requests(path).is_valid(body)


def check_request(path, body, verb="post"):
    fails(of_requests(path, verb), body, "request of " + path)


def check(path, method, body, status, answer, kind="application/json"):
    """Checks an answer against the description, and the request of an accepted one, too."""
    name = described(path)
    if not jsonschema or name is None or isinstance(body, bytes) or answer is None:
        return
    verb = (method or ("get" if body is None else "post")).lower()
    operation = document()["paths"][name].get(verb)
    if operation is None or (status != 200 and "E%d" % status not in document()["components"]["responses"]):
        if status not in (404, 405):
            raise AssertionError("%s %s: %d is not described" % (verb, path, status))
        return
    if status != 200:
        if str(status) not in operation["responses"]:
            raise AssertionError("%s %s: %d is not described" % (verb, path, status))
        fails(validator("components", "schemas", "Error"), answer, path)
    else:
        fails(validator("paths", name, verb, "responses", "200", "content", kind, "schema"), answer, path)
        if body is not None:
            check_request(path, body, verb)
    checked[name] = checked.get(name, 0) + 1
