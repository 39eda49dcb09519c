"""Plugins are looked for in the folder of the library's own file: not in the working directory, PATH or
LD_LIBRARY_PATH, whichever way the program was started.

usage: plugin_folder.py STATIC_PROBE PROBE LIBRARY PLUGIN
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

STATIC, SHARED, LIBRARY, PLUGIN = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
NAME = "libggufx-cuda.so.0"
NOBODY = 65534


class PluginFolder(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.root.chmod(0o755)
        for name in ("bin", "lib", "work", "path", "libraries"):
            (self.root / name).mkdir()
        self.program = self.root / "bin/probe"
        shutil.copy(STATIC, self.program)
        # Plugins where nothing may look for them.
        for name in ("work", "path", "libraries"):
            shutil.copy(PLUGIN, self.root / name / NAME)
        (self.root / "work/lib").mkdir()
        shutil.copy(PLUGIN, self.root / "work/lib" / NAME)

    def run_in(self, folder, *args, executable=None, **more):
        environment = {"PATH": f"{self.root}/bin:{self.root}/path", "LD_LIBRARY_PATH": f"{self.root}/libraries",
                       **{k: v for k, v in os.environ.items() if k.startswith(("ASAN", "UBSAN", "TSAN", "LSAN"))}, **more}
        done = subprocess.run(args, cwd=self.root / folder, env=environment, executable=executable, capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_not_loaded(self, listed, folder):
        self.assertNotIn("fake:0", listed)
        self.assertIn(f"there is no file {self.root / folder / NAME}", listed)

    def test_a_static_program_started_by_path(self):
        for args in (["probe"], ["probe", "-C", str(self.root / "path")], ["./../bin/probe"]):
            executable = self.program if args[0] == "probe" else None
            self.assert_not_loaded(self.run_in("work", *args, executable=executable), "bin")

    def test_the_name_of_a_program_is_not_believed(self):
        for name in ("probe", "./probe", str(self.root / "work/probe"), "", "/"):
            self.assert_not_loaded(self.run_in("work", name, executable=self.program), "bin")

    def test_the_plugin_beside_a_static_program(self):
        shutil.copy(PLUGIN, self.root / "bin" / NAME)
        for args in (["probe"], ["probe", "-C", "/"]):
            self.assertIn("fake:0", self.run_in("work", *args, executable=self.program))

    def test_a_library_that_was_loaded_by_a_relative_path(self):
        shutil.copy(SHARED, self.root / "bin/shared")
        shutil.copy(LIBRARY, self.root / "lib/libggufx.so.0")
        here = [str(self.root / "bin/shared"), "-C", str(self.root / "work")]
        self.assert_not_loaded(self.run_in(".", *here, LD_LIBRARY_PATH="lib"), "lib")
        shutil.copy(PLUGIN, self.root / "lib" / NAME)
        self.assertIn("fake:0", self.run_in(".", *here, LD_LIBRARY_PATH="lib"))

    def test_elevated_processes_refuse_relative_paths(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program that changes the user")
        os.chown(self.program, NOBODY, NOBODY)
        self.program.chmod(0o4755)
        work = self.root / "work"
        for given in (NAME, f"./{NAME}", ".", f"../work/{NAME}"):
            listed = self.run_in("work", "probe", given, executable=self.program)
            if "fake:0" in listed and os.statvfs(self.root).f_flag & os.ST_NOSUID:
                self.skipTest("the temporary folder has no such programs")
            self.assertNotIn("fake:0", listed)
            self.assertIn("must be absolute", listed)
        self.assertIn("fake:0", self.run_in("work", "probe", str(work / NAME), executable=self.program))
        self.assert_not_loaded(self.run_in("work", "probe", executable=self.program), "bin")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
