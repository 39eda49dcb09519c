// Ctrl-C in verbs that go on after it; the rest of signals is floor/signals.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx::cli {

// From now on each Ctrl-C only interrupts, none kills; a change of the window ends a wait for input.
void keep_interrupts();
// Waits until a descriptor can be read or has ended: true; false where a signal came, before the
// call or meanwhile, on whatever thread: see pending_signal(), 0 for one that counts for nothing.
bool wait_for_input(int descriptor);
// Was there a Ctrl-C since the last look? It is forgotten; another signal is not.
bool take_interrupt();

} // namespace ggufx::cli
