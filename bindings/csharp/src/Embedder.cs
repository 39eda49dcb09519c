// Embeddings of texts, and scores of rerankers.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Threading;

namespace Ggufx
{
    public sealed unsafe partial class Embedder
    {
        /// <summary>A row of Dimensions values for each text, with Pooling.None for each token.</summary>
        public float[] Embed(IReadOnlyList<int[]> texts, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            var lists = new TokenList[texts.Count];
            EmbedderFacts info = Info;
            int rows = 0;
            for (int i = 0; i < texts.Count; i++)
            {
                lists[i].Tokens = texts[i];
                rows += info.Pooling == Pooling.None ? (int)Math.Min((uint)texts[i].Length, info.Context) : 1;
            }
            var to = new float[rows * (int)info.Dimensions];
            Embed(to, lists, token, progress);
            return to;
        }
    }
}
