/*
 * What the symbols of loaded objects are bound to, read from their own relocations.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_SLOTS_H
#define GGUFX_TEST_SLOTS_H

/* One symbol that `object` (its path, "" for the program) uses, and the object it was bound to.
 * Calls that are bound when they first happen show their own object until then: RTLD_NOW. */
typedef void (*slots_visitor)(void *user, const char *object, const char *symbol,
                              const char *bound_to);

/* All symbols of all objects that are loaded, but the vdso. */
void slots_visit(slots_visitor visit, void *user);

#endif
