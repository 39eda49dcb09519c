"""Meson's plan for configurations that the suites do not build.

outputs: libdir and includedir outside the prefix, as systems with several outputs for a package set them:
ggufx.pc and the CMake files name them.
without chats: the sources that replace chats and grammars compile, each alone and both in one unit.
subproject: a parent project gets the library and the headers, and tool, plugins and tests only on request.

usage: configurations.py MESON SOURCE_ROOT WORKDIR
SPDX-License-Identifier: MIT
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import public

PARENT = "project('parent', 'c', default_options: ['default_library=shared'])\ndependency('ggufx')\n"
WRAP = "[wrap-file]\ndirectory = ggufx\n[provide]\ndependency_names = ggufx\n"


def run(*command):
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        sys.exit(f"FAIL: {' '.join(map(str, command))}\n{result.stdout}")
    return result.stdout


def introspect(meson, build, what):
    return json.loads(run(meson, "introspect", f"--{what}", build))


def check_outputs(meson, root, work):
    places = {name: work / name for name in ("out", "lib/lib", "dev/include")}
    build = work / "outputs"
    run(meson, "setup", build, root, f"--prefix={places['out']}", f"--libdir={places['lib/lib']}",
        f"--includedir={places['dev/include']}", "-Dtests=disabled", "-Dcli=disabled", "-Dvulkan=disabled", "-Dcuda=disabled")
    faults = []
    pc = (build / "pkgconfig/ggufx.pc").read_text()
    for name, wanted in (("prefix", "out"), ("libdir", "lib/lib"), ("includedir", "dev/include")):
        got = re.search(rf"^{name}=(.*)$", pc, re.M)[1]
        if got != str(places[wanted]):
            faults.append(f"ggufx.pc: {name} is {got}, not {places[wanted]}")
    config = (build / "pkgconfig/ggufxConfig.cmake").read_text()
    wanted = {f'"{places["lib/lib"]}/${{_ggufx_shared}}"', f'"{places["dev/include"]}"'}
    faults += [f"ggufxConfig.cmake does not name {place}" for place in wanted if place not in config]
    installed = introspect(meson, build, "installed").values()
    lost = [path for path in installed if not path.startswith(tuple(map(str, places.values())))]
    return faults + [f"installed elsewhere: {path}" for path in lost]


def check_subproject(meson, root, work):
    parent, build = work / "parent", work / "subproject"
    (parent / "subprojects").mkdir(parents=True)
    (parent / "meson.build").write_text(PARENT)
    (parent / "subprojects/ggufx.wrap").write_text(WRAP)
    os.symlink(root, parent / "subprojects/ggufx")
    run(meson, "setup", "--wrap-mode=forcefallback", build, parent)  # one may be installed
    built = [t for t in introspect(meson, build, "targets") if t["build_by_default"]]
    faults = [f"builds {t['name']} by default" for t in built if t["name"] != "ggufx"]
    tests = introspect(meson, build, "tests")
    if tests:
        faults.append(f"lists {len(tests)} tests, {tests[0]['name']} among them")
    if not built:
        faults.append("builds no library")
    return faults


def check_without_chats(meson, root, work):
    build = work / "without_chats"
    run(meson, "setup", build, root, "-Dchat=false", "-Dvocabularies=false", "-Dapp_local=true", "-Dtests=disabled", "-Dcli=disabled",
        "-Dbindings=disabled", "-Db_pch=false")
    sources = [source for target in introspect(meson, build, "targets") for of in target["target_sources"]
               for source in of["sources"] if pathlib.Path(source).name.startswith("without_")]
    names = sorted({pathlib.Path(source).name for source in sources})
    if names != ["without_chat.cpp"]:
        return [f"builds {names} in place of chats and grammars"]
    commands = {c["file"]: c for c in json.loads((build / "compile_commands.json").read_text())}
    faults = []
    for file, command in commands.items():
        if pathlib.Path(file).name not in names:
            continue
        result = subprocess.run([*shlex.split(command["command"]), "-fsyntax-only"], cwd=command["directory"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            faults.append(f"{file} does not compile:\n{result.stdout}")
    return faults


def main():
    meson, root, work = sys.argv[1], *map(pathlib.Path, sys.argv[2:4])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    checks = [check(meson, root, work) for check in (check_outputs, check_without_chats, check_subproject)]
    public.finish("configurations", [fault for check in checks for fault in check], len(checks))


main()
