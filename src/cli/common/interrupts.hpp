// Ctrl-C for commands that continue after it; other signals are in common/signals.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx::cli {

// From now on Ctrl-C interrupts and never kills, and a window resize ends a wait for input.
void keep_interrupts();
// Returns true once a descriptor is readable or closed. Returns false if a signal came before or
// during the call, on any thread; pending_signal() is 0 for signals without effect (a resize).
bool wait_for_input(int descriptor);
// Returns whether Ctrl-C came since the last call, and clears it. Other signals stay pending.
bool take_interrupt();

} // namespace ggufx::cli
