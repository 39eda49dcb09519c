/*
 * Symbol bindings of loaded objects, read from their own relocations.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_SLOTS_H
#define GGUFX_TEST_SLOTS_H

/* Called with a symbol that `object` (its path, "" for the program) uses and the object that the
 * symbol is bound to. Without RTLD_NOW, functions not called yet show their own object. */
typedef void (*slots_visitor)(void *user, const char *object, const char *symbol,
                              const char *bound_to);

/* Visits all symbols of all loaded objects except the vdso. */
void slots_visit(slots_visitor visit, void *user);

#endif
