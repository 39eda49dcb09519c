// Ctrl-C: the first one asks the running command to stop and clean up, the second one kills.
// SPDX-License-Identifier: MIT
#pragma once

#include <ggufx/base.h>

namespace ggufx::cli {

// Installs the handlers. Makes sure that descriptors 0..2 exist, so that no opened file gets one.
void prepare_process();

int pending_signal();   // 0 = none
void check_interrupt(); // throws Failure with exit code 130 (Ctrl-C) or 143 after a signal

// Returns a descriptor that is readable after a signal or wake(); -1 if there is none.
int wake_descriptor();
void wake(); // also in handlers
// Waits at most `milliseconds`, -1 = no limit. Returns at once if a signal came before.
void wait_for_wake(int milliseconds);

// Returns a hook for library calls that cancels after a signal.
ggufx_progress cancel_hook();

} // namespace ggufx::cli
