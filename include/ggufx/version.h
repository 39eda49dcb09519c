/*
 * ggufx/version.h: version of these headers.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_VERSION_H
#define GGUFX_VERSION_H

#define GGUFX_VERSION_MAJOR 0 /* incremented when the binary interface breaks, from 1 on */
#define GGUFX_VERSION_MINOR 1 /* incremented when functions are added */
#define GGUFX_VERSION_PATCH 0 /* incremented for fixes */

/* The result of ggufx_abi_version() in a library that these headers fit. */
#define GGUFX_ABI_VERSION 1

#endif
