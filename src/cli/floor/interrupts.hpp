// Ctrl-C in verbs that go on after it; the rest of signals is floor/signals.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx::cli {

// From now on each Ctrl-C only interrupts, none kills.
void keep_interrupts();
// Was there a Ctrl-C since the last look? It is forgotten; another signal is not.
bool take_interrupt();

} // namespace ggufx::cli
