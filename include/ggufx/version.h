/*
 * ggufx/version.h: the version of these headers.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_VERSION_H
#define GGUFX_VERSION_H

#define GGUFX_VERSION_MAJOR 0 /* other binary interface, once it is 1 */
#define GGUFX_VERSION_MINOR 1 /* more functions */
#define GGUFX_VERSION_PATCH 0 /* repairs alone */

/* The number ggufx_abi_version() returns for a library these headers fit. */
#define GGUFX_ABI_VERSION 1

#endif
