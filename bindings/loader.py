"""Writes ggufx/loader.h, for hosts that load the library at run time. It is committed, because such hosts often
copy the headers from the tree and do not build the library. raw.py writes and compares it.

SPDX-License-Identifier: MIT
"""
TEXT = """/*
 * ggufx/loader.h: the functions of a library that is loaded at run time, in one table.
 *
 *     static void *get_symbol(void *library, const char *name) { return dlsym(library, name); }
 *
 *     ggufx_functions api;
 *     const char *missing = ggufx_load(&api, get_symbol, dlopen("libggufx.so.0", RTLD_NOW));
 *     if (missing == NULL) api.runtime_create(&rt, NULL, &error);
 *
 * Nothing here is linked. Needs C99 or C++.
 * Written by bindings/raw.py from the other headers.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_LOADER_H
#define GGUFX_LOADER_H

#include "ggufx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* Calls X(name) for each function ggufx_name, in the order of the table. */
#define GGUFX_FUNCTIONS(X) \\
%s

/* A pointer to each function, with the parameters and the contract of its header. */
typedef struct ggufx_functions {
%s
} ggufx_functions;

/* clang-format on */

/* The name of a function as a string and a comma, for GGUFX_FUNCTIONS. */
#define GGUFX_SYMBOL(name) "ggufx_" #name,

/*
 * Fills the table with the functions of a library.
 *
 * get_symbol  returns the address of a function by its name, or NULL: dlsym, GetProcAddress, or the
 *             loader of an engine.
 *
 * A function that an older library lacks becomes NULL. The result is the name of the first one, or
 * NULL if the library has all. A host that does without some functions checks those that it needs:
 * `if (api.open == NULL)`.
 *
 * Threads: any.   Since: 0.1.
 */
static inline const char *
ggufx_load(ggufx_functions *out, void *(*get_symbol)(void *user, const char *name), void *user) {
    static const char *const names[] = {GGUFX_FUNCTIONS(GGUFX_SYMBOL)};
    unsigned char *bytes = (unsigned char *)out;
    const char *missing = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *const symbol = get_symbol(user, names[i]);
        /* Byte by byte, because ISO C does not convert addresses of objects to those of functions. */
        for (size_t j = 0; j < sizeof symbol; j++) *bytes++ = ((const unsigned char *)&symbol)[j];
        if (symbol == NULL && missing == NULL) missing = names[i];
    }
    return missing;
}

#ifdef __cplusplus
}
#endif

#endif
"""


def header(api):
    """The text of ggufx/loader.h."""
    names = [f.name.removeprefix("ggufx_") for f in api.functions]
    rows = " \\\n".join(f"    X({name})" for name in names)
    members = []
    for name, f in zip(names, api.functions):
        space = "" if f.result.endswith("*") else " "
        members.append(f"    {f.result}{space}(*{name})({f.signature});")
    return TEXT % (rows, "\n".join(members))
