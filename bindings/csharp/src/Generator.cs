// The output of a generator as a sequence of events.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Threading;

namespace Ggufx
{
    public sealed partial class Generator
    {
        /// <summary>Sets a prompt and iterates over the events of its output, up to that of its end. The generator is
        /// cancelled by the token, and when the loop is left early. A new prompt ends earlier loops.</summary>
        /// <exception cref="GgufxException">That of SetPrompt; in the loop those of Next, and that of an End.Error.</exception>
        public IEnumerable<Event> Stream(Prompt prompt, CancellationToken token = default(CancellationToken))
        {
            SetPrompt(prompt);
            return Events(new StepOptions { Token = token }, current = new object());
        }

        private object current; // stands for the newest loop: older ones end, and cancel nothing

        private IEnumerable<Event> Events(StepOptions options, object mine)
        {
            Event e = null;
            try
            {
                do
                {
                    if (current != mine) yield break;
                    e = Next(options);
                    if (e.End == End.Error) throw Check.Error(e.Status, e.Text);
                    yield return e;
                }
                while (e.Kind != EventKind.End);
            }
            finally
            {
                try
                {
                    if (current == mine && (e == null || e.Kind != EventKind.End)) Cancel();
                }
                catch (ObjectDisposedException) // closed in the loop: nothing is left to cancel
                {
                }
            }
        }
    }
}
