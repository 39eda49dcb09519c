"""The library's effects on its process: it calls no function of the denylist, has no writable data except the listed
ones, no constructors except the compiler's, and no thread-local data.

The only exception is a process with corrupted memory: with -Dhardening the guards of the compiler
(__stack_chk_fail) and of the C library (memcpy as __memcpy_chk) end it after a stack or buffer overrun;
hardening.py checks them.

usage: process.py NM READELF LIBRARY
SPDX-License-Identifier: MIT
"""
import re
import subprocess
import sys

import public

DENIED = re.compile(r"""^(
    abort | _?exit | _Exit | quick_exit | atexit | on_exit | __cxa_atexit | __cxa_thread_atexit(_impl)?
  | __assert\w* | raise | kill | signal | bsd_signal | sigaction | sigset | setjmp | _setjmp | longjmp | __longjmp_chk
  | v?f?printf | (__v?[fs]?printf_chk) | puts | fputs | putchar | putc | fputc | fwrite | perror | v?dprintf
  | v?sprintf | stdin | stdout | stderr | syslog
  | (secure_)?getenv | setenv | putenv | unsetenv | environ
  | setlocale | uselocale | newlocale | localeconv | strtod | strtof | strtold | atof
  | strto(ul|l|ll|ull)? | ato(i|l|ll) | sscanf | __isoc99_\w+ | strerror | strtok | localtime | gmtime
  | chdir | fchdir | umask | s?rand(om)? | setrlimit | setpriority | nice | sched_setaffinity
  | system | popen | v?fork | exec\w+ | posix_spawnp? | fesetenv | fesetround | feenableexcept
  | __cxa_guard_acquire | __tls_get_addr | __cpu_model | __cpu_indicator_init
  | malloc_usable_size | mallopt | mi_\w+
  | (exp|exp2|expm1|log|log2|log10|log1p|sin|cos|sincos|tan|tanh|pow|cbrt|erf|tgamma|lgamma)[fl]?
)$ | ^_ZNSt8ios_base | ^_ZSt(4cout|4cerr|4clog|3cin) | ^_ZNSt6locale | ^_ZNSt6thread | ^_ZNSt13random_device
""", re.X)

# The library's writable data, demangled: the atomic word of processor features, also by clang's name after scalar
# replacement of the class.
WRITABLE = {"ggufx::cpu::features()::word", "_ZZN5ggufx3cpu8featuresEvE4word.0"}
COMPILERS = {"completed.0", "__dso_handle", "__TMC_END__", "_edata", "_end", "__bss_start", "data_start",
             "__data_start", "_DYNAMIC", "_GLOBAL_OFFSET_TABLE_", "object.0",
             "__do_global_dtors_aux_fini_array_entry", "__frame_dummy_init_array_entry"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_calls(nm, library):
    names = [line.split()[-1].split("@")[0]
             for line in run(nm, "-D", "--undefined-only", library).splitlines()]
    return [f"calls {name}" for name in names if DENIED.match(name)], len(names)


def check_data(nm, library):
    faults = []
    for line in run(nm, "-C", "--defined-only", "-S", library).splitlines():
        match = re.match(r"[0-9a-f]+ (?:[0-9a-f]+ )?([bBdDuvV]) (.*)$", line)
        if not match or match.group(2) in WRITABLE | COMPILERS:
            continue
        if match.group(2).startswith("DW.ref."):  # the compiler's, for exception tables
            continue
        if match.group(1) in "dD" and in_relro(line.split()[0]):
            continue
        faults.append(f"writable data: {match.group(2)} ({match.group(1)})")
    return faults


def sections(readelf, library):
    found = {}
    for line in run(readelf, "-SW", library).splitlines():
        match = re.match(r"\s*\[ *\d+\] (\S+)\s+\S+\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", line)
        if match:
            found[match.group(1)] = (int(match.group(2), 16), int(match.group(3), 16))
    return found


SECTIONS = {}


def in_relro(address):
    """Tables of pointers are in .data.rel.ro, which is read-only after loading."""
    value = int(address, 16)
    start, size = SECTIONS.get(".data.rel.ro", (0, 0))
    return start <= value < start + size


def check_sections():
    faults = []
    word = SECTIONS["word"][1]
    for name in (".init_array", ".fini_array"):
        if SECTIONS.get(name, (0, 0))[1] > word:
            faults.append(f"{name} holds more than the compiler's entry")
    for name in (".tbss", ".tdata", ".ctors", ".dtors", ".preinit_array"):
        if name in SECTIONS:
            faults.append(f"has a section {name}")
    return faults


def main():
    nm, readelf, library = sys.argv[1:4]
    SECTIONS.update(sections(readelf, library))
    SECTIONS["word"] = (0, 8 if "ELF64" in run(readelf, "-h", library) else 4)
    faults, n = check_calls(nm, library)
    faults += check_data(nm, library) + check_sections()
    public.finish("undefined symbols", faults, n)


main()
