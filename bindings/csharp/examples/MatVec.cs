// y = W x, straight from the quantized blocks of a file.
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using Ggufx;

static class MatVec
{
    static void Main(string[] args)
    {
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        {
            var w = file.Tensor("token_embd.weight");
            var x = new float[w.Info.Ne[0]];
            for (int i = 0; i < x.Length; i++) x[i] = i % 7 - 3;
            float[] y = w.MatVec(rt, x);
            int last = y.Length - 1;
            Console.WriteLine(string.Format(CultureInfo.InvariantCulture,
                "{0} rows, y[0] = {1:F6}, y[{2}] = {3:F6}", y.Length, (double)y[0], last, (double)y[last]));
        }
    }
}
