/* Instruction sets of all machines, scalar first; a runtime refuses those that this one lacks.
 * SPDX-License-Identifier: MIT */
#ifndef GGUFX_TESTS_INSTRUCTION_SETS_H
#define GGUFX_TESTS_INSTRUCTION_SETS_H

#include <ggufx/base.h>

static const ggufx_isa kInstructionSets[] = {
#define GGUFX_INSTRUCTION_SET(name, constant, value) GGUFX_ISA_##constant,
#include "../src/kernels/sets.def"
#undef GGUFX_INSTRUCTION_SET
};
enum { kInstructionSetCount = sizeof kInstructionSets / sizeof *kInstructionSets };

#endif
