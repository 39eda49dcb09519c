// Ctrl-C: the first one asks the running verb to stop and tidy up, the second one kills.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/base.h>

namespace ggufx::cli {

// Install the handlers; makes sure that descriptors 0..2 exist, so that no opened file gets one.
void prepare_process();

int pending_signal();   // 0 = none
void check_interrupt(); // throws Failure with exit code 130 (Ctrl-C) or 143 after a signal

// A descriptor that can be read once a signal came, or wake() was called; -1: there is none.
int wake_descriptor();
void wake(); // in handlers, too
// Waits so many milliseconds at most, -1 = any time; returns at once where a signal came before.
void wait_for_wake(int milliseconds);

// Hook for library calls: cancels after a signal.
ggufx_progress cancel_hook();

} // namespace ggufx::cli
