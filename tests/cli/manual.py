# The manual page that the tool prints: complete, and without warnings of man or mandoc.
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import subprocess
import sys

import tool
from tool import SOURCE


def write_man3(folder):
    """Writes the pages of the C interface, as the build does, and returns their paths by name."""
    script = os.path.join(SOURCE, "pkgconfig", "man3.py")
    subprocess.run([sys.executable, script, SOURCE, "0", folder], check=True)
    return {name: os.path.join(folder, name) for name in sorted(os.listdir(folder))}


class Manual(tool.Case):
    texts = {}  # help of commands, cached

    def commands(self):
        answer = self.ok("--complete", "").decode().splitlines()
        return [line.split("\t")[0] for line in answer[1:]]

    def page(self, *command):
        Manual.texts[command] = Manual.texts.get(command) or self.ok("manual", *command)
        return Manual.texts[command]

    def pages(self):
        man3 = write_man3(self.path("man3"))
        pages = {"ggufx.1": self.path("ggufx.1", self.page()), "ggufx.3": man3["ggufx.3"]}
        for command in self.commands():
            name = f"ggufx-{command}.1"
            pages[name] = self.path(name, self.page(command))
        return pages

    def test_mandoc_has_no_complaint(self):
        if not shutil.which("mandoc"):
            self.skipTest("no mandoc")
        for page in self.pages().values():
            result = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page],
                                    stdout=subprocess.PIPE)
            # A page without a date is the same in every build.
            said = [line for line in result.stdout.decode().splitlines()
                    if "missing date" not in line]
            self.assertEqual(said, [])

    def test_man_has_no_complaint(self):
        if not shutil.which("man") or not shutil.which("groff"):
            self.skipTest("no man, or no groff")
        for page in self.pages().values():
            result = subprocess.run(["man", "--warnings=w", "-l", page], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE,
                                    env=tool.environment(LC_ALL="C.UTF-8", MANWIDTH="80"))
            self.assertEqual((result.returncode, result.stderr.decode()), (0, ""))

    def test_every_command_and_option_is_there(self):
        page = self.page().decode().replace("\\-", "-").replace("\\(aq", "'")
        listed = re.findall(r"^\.SS (.*)$", page, re.M)
        def verbs(path):
            answer = self.ok("--complete", *path, "").decode().splitlines()
            return [[*path, line.split("\t")[0]] for line in answer[1:]]
        leaves = [leaf for verb in verbs([]) for leaf in
                  (verbs(verb) if verb[0] in ("bench", "imatrix") else [verb])]
        self.assertEqual(listed, [" ".join(leaf) for leaf in leaves])
        for leaf in (["quantize"], ["info"], ["bench", "kv"]):
            section = page.split(f"\n.SS {' '.join(leaf)}\n")[1].split("\n.SS ")[0]
            usage = self.ok(*leaf, "--help").decode()
            for name in re.findall(r"^  (?:-\w,)?(--[\w-]+)", usage, re.M)[1:]:
                self.assertIn(f"\\fB{name}\\fR", section)
            examples = usage.split("Examples:\n")[1].split("\n\n")[0]
            self.assertIn(examples, section)

    def test_each_command_has_a_page_that_is_installed(self):
        with open(os.path.join(SOURCE, "pkgconfig/meson.build"), encoding="utf-8") as file:
            listed = re.search(r"foreach command : \[([^]]*)\]", file.read()).group(1)
        commands = self.commands()  # serve exists if libmicrohttpd was found
        listed = [name for name in re.findall(r"'([\w-]+)'", listed) if name != "serve" or name in commands]
        self.assertEqual(listed, sorted(commands))
        whole = self.page().decode()
        for command in self.commands():
            page = self.page(command).decode()
            name = command.replace("-", "\\-")
            self.assertIn(f".SH NAME\nggufx\\-{name} \\- ", page)
            self.assertIn(f".BR ggufx\\-{name} (1)", whole)
            # Its options and examples are those of the section in ggufx(1).
            if f"\n.SS {name}\n" in whole:
                section = whole.split(f"\n.SS {name}\n")[1].split("\n.S")[0]
                for part in re.findall(r"^\.TP\n.*\n.*$", section, re.M):
                    self.assertIn(part, page)
        self.assertIn('did you mean "quantize"', self.fails(2, "manual", "quantise"))

    def test_exit_codes_are_those_of_the_help(self):
        page, usage = self.page().decode(), self.ok("--help").decode()
        told = dict(re.findall(r"^\.TP\n\.B (\d+)\n(.*)$", page, re.M))
        notes = usage.split("Exit codes:")[1].split(".\n")[0].replace("\n", " ")
        self.assertEqual(told, dict(re.findall(r"(\d+) ([a-z ]+)", notes)))
        self.assertEqual(len(told), 8)

    def test_every_function_has_a_page(self):
        man3 = write_man3(self.path("man3"))
        with open(man3["ggufx.3"], encoding="utf-8") as file:
            page = file.read()
        with open(os.path.join(SOURCE, "tests/abi/symbols.txt"), encoding="utf-8") as file:
            names = file.read().split()
        self.assertGreater(len(names), 100)
        self.assertEqual(sorted(re.findall(r"\\fB(ggufx_\w+)\\fR\(", page)), sorted(names))
        self.assertNotRegex(page, r"\n\n")
        self.assertEqual(sorted(man3), sorted(["ggufx.3", *(f"{name}.3" for name in names)]))
        for name, path in man3.items():
            with open(path, encoding="utf-8") as file:
                page = file.read()
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
                self.assertIn(f"\n.SH {section}\n", page, name)
        with open(man3["ggufx_kv_attend.3"], encoding="utf-8") as file:
            page = file.read()
        for part in (".I lse\nMay be NULL. f32, [n_queries][n_q_heads]", ".SS ggufx_attend_options\n",
                     ".SH ERRORS\n.IP \\(bu 2\nARGUMENT (index: the query, ", ".SH THREADS\nany number at once"):
            self.assertIn(part, page)

    def test_pages_of_functions_have_no_complaint(self):
        if not shutil.which("mandoc") or not shutil.which("groff"):
            self.skipTest("no mandoc, or no groff")
        pages = list(write_man3(self.path("man3")).values())
        said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], stdout=subprocess.PIPE).stdout.decode()
        self.assertEqual([line for line in said.splitlines() if "missing date" not in line], [])
        said = subprocess.run(["groff", "-man", "-ww", "-T", "utf8", "-z", *pages], stderr=subprocess.PIPE).stderr.decode()
        self.assertEqual(said, "")


if __name__ == "__main__":
    tool.main()
