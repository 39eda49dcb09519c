/*
 * A string of a test as a text of the interface. NULL is the absent text.
 * SPDX-License-Identifier: MIT
 */
#ifndef TEXT_OF_H
#define TEXT_OF_H

#include <ggufx/base.h>

#include <string.h>

static inline ggufx_text text_of(const char *text) {
    const ggufx_text out = {text, text ? strlen(text) : 0};
    return out;
}

#endif
