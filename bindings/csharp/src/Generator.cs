// The output of a generator as a sequence of events.
// SPDX-License-Identifier: MIT
using System.Collections.Generic;
using System.Threading;

namespace Ggufx
{
    public sealed partial class Generator
    {
        /// <summary>Sets a prompt and iterates over the events of its output, up to that of its end. The generator is
        /// cancelled by the token, and when the loop is left early.</summary>
        /// <exception cref="GgufxException">That of SetPrompt; in the loop those of Next, and that of an End.Error.</exception>
        public IEnumerable<Event> Stream(Prompt prompt, CancellationToken token = default(CancellationToken))
        {
            SetPrompt(prompt);
            return Events(new StepOptions { Token = token });
        }

        private IEnumerable<Event> Events(StepOptions options)
        {
            Event e = null;
            try
            {
                do
                {
                    e = Next(options);
                    if (e.End == End.Error) throw Check.Error(e.Status, e.Text);
                    yield return e;
                }
                while (e.Kind != EventKind.End);
            }
            finally
            {
                if (e == null || e.Kind != EventKind.End) Cancel();
            }
        }
    }
}
