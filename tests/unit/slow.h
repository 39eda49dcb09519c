/*
 * SANITIZED and SLOW, set where everything takes 5 to 100 times as long. SLOW includes builds for
 * emulators and unoptimized code (GGUFX_TEST_SLOW).
 * SPDX-License-Identifier: MIT
 */
#ifndef SLOW_H
#define SLOW_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#ifdef GGUFX_TEST_SLOW
#define SLOW 1
#else
#define SLOW SANITIZED
#endif

#endif
