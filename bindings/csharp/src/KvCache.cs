// Snapshots of caches in streams.
// SPDX-License-Identifier: MIT
using System.IO;

namespace Ggufx
{
    public sealed unsafe partial class KvCache
    {
        /// <summary>Write a snapshot of a sequence, or of Constants.AllSequences.</summary>
        public void Save(uint sequence, Stream to) { Save(sequence, Streams.Writer(to)); }

        /// <summary>Replace a sequence, or all, by a snapshot; whole or not at all.</summary>
        public void Load(uint sequence, Stream from) { Load(sequence, Streams.Reader(from)); }
    }
}
