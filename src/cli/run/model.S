/* The demo's model (tests/data/README.md), 64-byte aligned, in the read-only data of the tool.
 * GGUFX_DEMO_MODEL is its path, given by Meson.
 * SPDX-License-Identifier: MIT */
#if defined(__APPLE__)
#define SYMBOL(name) _##name
    .section __TEXT,__const
#else
#define SYMBOL(name) name
#if defined(_WIN32)
    .section .rdata,"dr"
#else
    .section .rodata
#endif
#endif

    .globl SYMBOL(ggufx_demo_model)
    .globl SYMBOL(ggufx_demo_model_end)
    .balign 64
SYMBOL(ggufx_demo_model):
    .incbin GGUFX_DEMO_MODEL
SYMBOL(ggufx_demo_model_end):
    .byte 0

#if defined(__ELF__)
    .section .note.GNU-stack,"",%progbits
#endif
