"""A binding as somebody gets it: alone, in a folder of its own, against an installed library, without the
tree and the test model. Its tests pass or skip with a word; packages hold what they must.

usage: outside.py LANGUAGE LIBRARY_FOLDER WORKDIR MODEL     (exit 77: a tool is absent)
SPDX-License-Identifier: MIT
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import repository
import tools
from tools import run, tool

HERE = pathlib.Path(__file__).resolve().parent
# Checks the README's program; run.py has checked that it is well-formed.
FENCE = re.compile(r"^```go\n(.*?)^```$", re.M | re.S)


def said(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    print("$", *command, flush=True)
    if done.returncode:
        sys.exit(f"{command[0]}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def skips(text, language):
    if "GGUFX_TEST_MODEL names no model" not in text:
        sys.exit(f"{language}: no word of the model that is absent: {text[-2000:]}")


def install(library, to):
    """Files of an installed library."""
    shutil.copytree(HERE.parent / "include/ggufx", to / "include/ggufx")
    (to / "lib/pkgconfig").mkdir(parents=True)
    shutil.copy(library / "libggufx.so.0", to / "lib/libggufx.so.0")
    (to / "lib/libggufx.so").symlink_to("libggufx.so.0")
    (to / "lib/pkgconfig/ggufx.pc").write_text(
        f"Name: ggufx\nDescription: installed\nVersion: 0\nLibs: -L{to}/lib -lggufx\n"
        f"Cflags: -I{to}/include\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GGUFX_")}
    return {**environment, "PKG_CONFIG_PATH": str(to / "lib/pkgconfig"), "GGUFX_CLOSE_ROUNDS": "2",
            "LD_LIBRARY_PATH": str(to / "lib")}


# ---- Go ------------------------------------------------------------------------------------------

def escaped(path):
    """As the protocol of module proxies writes capitals."""
    return re.sub(r"[A-Z]", lambda m: "!" + m.group(0).lower(), path)


def serve(module, version, to):
    """A GOPROXY of files with one version of the module, and the zip's names."""
    folder, name = to / escaped(module) / "@v", f"v{version}"
    folder.mkdir(parents=True)
    (folder / "list").write_text(name + "\n")
    (folder / f"{name}.info").write_text(json.dumps({"Version": name, "Time": "2026-01-01T00:00:00Z"}))
    shutil.copy(HERE / "go/go.mod", folder / f"{name}.mod")
    names = sorted(p.relative_to(HERE / "go") for p in (HERE / "go").rglob("*") if p.is_file())
    with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in names:
            packed.write(HERE / "go" / path, f"{module}@{name}/{path}")
    return {str(path) for path in names}


def go(library, work, model):
    environment = install(library, work / "installed")
    cache = pathlib.Path(sys.argv[3]).resolve().parent / "go/cache"  # shared with run.py
    environment.update(GOFLAGS="-mod=mod", GOTOOLCHAIN="local", GOCACHE=str(cache), GOSUMDB="off",
                       GOPATH=str(work / "path"), GOPROXY=f"file://{work}/proxy")
    module = repository.go_module()
    there = serve(module, repository.version(), work / "proxy")
    if not {"LICENSE", "README.md", "go.mod", "handle.go", "hooks.h"} <= there:
        sys.exit(f"the module's zip has {sorted(there)}")
    fresh = work / "fresh"
    fresh.mkdir()
    (fresh / "main.go").write_text(FENCE.search((HERE / "go/README.md").read_text()).group(1))
    run([tool("go"), "mod", "init", "example.org/fresh"], cwd=fresh, env=environment)
    run([tool("go"), "get", f"{module}@v{repository.version()}"], cwd=fresh, env=environment)
    skips(said([tool("go"), "test", "-vet=off", "-count=1", "-v", module], cwd=fresh, env=environment), "go")
    run([tool("go"), "build", "-o", "fresh", "."], cwd=fresh, env=environment)
    if not said([str(fresh / "fresh"), model], env=environment).startswith(" Nib was careful."):
        sys.exit("the README's program says something else")
    run([tool("go"), "clean", "-modcache"], cwd=fresh, env=environment)  # read-only


# ---- Rust ----------------------------------------------------------------------------------------

def rust(library, work, _model):
    environment = install(library, work / "installed")
    environment.update(RUSTC=tool("rustc"), RUSTDOC=tool("rustdoc"), CARGO_NET_OFFLINE="true",
                       CARGO_HOME=str(work / "home"), CARGO_TARGET_DIR=str(work / "target"),
                       CARGO_INCREMENTAL="0", CARGO_PROFILE_DEV_DEBUG="0", CARGO_PROFILE_TEST_DEBUG="0")
    alone = work / "alone"
    shutil.copytree(HERE / "rust", alone, ignore=shutil.ignore_patterns("target"))
    (work / "home").mkdir()
    (work / "home/config.toml").write_text(
        f'[patch.crates-io]\nggufx-sys = {{ path = "{alone}/ggufx-sys" }}\n')
    for crate in ("ggufx-sys", "ggufx"):
        run([tool("cargo"), "package", "--offline", "--no-verify", "--allow-dirty", "--quiet", "-p", crate],
            cwd=alone, env=environment)
        name = f"{crate}-{repository.version()}"
        with tarfile.open(work / f"target/package/{name}.crate") as packed:
            names = set(packed.getnames())
            manifest = packed.extractfile(f"{name}/Cargo.toml").read().decode()
        for wanted in ("LICENSE", "README.md", "src/lib.rs"):
            if f"{name}/{wanted}" not in names:
                sys.exit(f"{name}.crate lacks {wanted}: {sorted(names)}")
        for field in ("license", "repository", "keywords", "categories", "readme", "description"):
            if f"\n{field} = " not in manifest:
                sys.exit(f"{name}.crate: no {field}")
    # Build as on docs.rs, without the library.
    nothing = {**environment, "PKG_CONFIG": "false", "RUSTDOCFLAGS": "-Dwarnings",
               "CARGO_TARGET_DIR": str(work / "documented")}
    for more in ({}, {"DOCS_RS": "1"}):
        run([tool("cargo"), "doc", "--quiet", "--no-deps", "--workspace"], cwd=alone, env={**nothing, **more})
    skips(said([tool("cargo"), "test", "--workspace"], cwd=alone, env=environment), "rust")


# ---- C# ------------------------------------------------------------------------------------------

def csharp(library, work, _model):
    environment = install(library, work / "installed")
    alone = work / "alone"
    shutil.copytree(HERE / "csharp", alone)
    sources = [str(p) for folder in ("src", "tests") for p in sorted((alone / folder).glob("*.cs"))]
    run([*tools.mcs(), f"-out:{work}/tests.exe", *sources])
    skips(said([tool("mono"), "--debug", str(work / "tests.exe")], env=environment), "csharp")
    project = (alone / "Ggufx.csproj").read_text()
    for field in ("PackageId", "Authors", "Description", "PackageLicenseExpression", "PackageReadmeFile",
                  "PackageTags", "RepositoryUrl", "GenerateDocumentationFile"):
        if f"<{field}>" not in project:
            sys.exit(f"Ggufx.csproj: no {field}")
    if "<TargetFramework>netstandard2.0<" not in project:
        sys.exit("Ggufx.csproj: another target than the one that is tested")


def renamed(work):
    """The repository's name is written everywhere by one script."""
    copy = work / "renamed"
    shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("target", "__pycache__"))
    run([sys.executable, str(copy / "repository.py"), "Some-One/fork.gguf"])
    left = [p for p in repository.places()
            if "github.com/Some-One/fork.gguf" not in (copy / p.relative_to(HERE)).read_text()]
    if left:
        sys.exit(f"not renamed: {left}")


def main():
    language, library, _, model = sys.argv[1:5]
    with tempfile.TemporaryDirectory(prefix="ggufx-outside-") as work:
        renamed(pathlib.Path(work))
        {"go": go, "rust": rust, "csharp": csharp}[language](
            pathlib.Path(library).resolve(), pathlib.Path(work), model)


main()
