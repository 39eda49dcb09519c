// A KV cache of 4 bits a value: append 300 tokens, attend over them with one query.
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using Ggufx;

static class Attend
{
    const int Tokens = 300, KvHeads = 2, QHeads = 4, Dim = 64;

    static float[] Numbers(int n)
    {
        var to = new float[n];
        for (int i = 0; i < n; i++) to[i] = (i * 7919 + 13) % 2003 / 1001f - 1;
        return to;
    }

    static void Main()
    {
        var options = new KvOptions
        {
            NLayers = 1, KvHeads = KvHeads, QHeads = QHeads, HeadDimK = Dim, TypeK = TensorType.GX4, TypeV = TensorType.GX4,
        };
        using (var rt = new Runtime())
        using (var kv = new KvCache(rt, options))
        {
            float[] k = Numbers(Tokens * KvHeads * Dim), to = new float[QHeads * Dim];
            kv.Append(new KvTokens { Tokens = Tokens, K = k, V = k });
            kv.Attend(to, new KvQueries { Queries = 1, Q = Numbers(QHeads * Dim) });
            Console.WriteLine(string.Format(CultureInfo.InvariantCulture,
                "{0} tokens, out[0] = {1:F6}, out[255] = {2:F6}", Tokens, (double)to[0], (double)to[255]));
        }
    }
}
