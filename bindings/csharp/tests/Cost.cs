// Call overhead: nanoseconds of the smallest product and of a 4096 x 4096 one of Q4_K, the best of
// several rounds. Used by ../../cost.py.
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.Globalization;
using System.Linq;
using Ggufx;

public static partial class Tests
{
    static double Best(int rounds, int calls, TensorType type, int rows, int columns)
    {
        var rt = new Runtime(new RuntimeOptions { Threads = 1 });
        var values = Enumerable.Range(0, rows * columns).Select(i => i % 17 - 8f).ToArray();
        var blocks = new byte[rows * (int)type.TypeRowBytes((ulong)columns)];
        rt.QuantizeBlocks(blocks, type, values, rows, columns);
        var w = Tensor.Wrap(rt, type, new[] { (ulong)columns, (ulong)rows }, blocks, "w");
        float[] x = Enumerable.Repeat(1f, columns).ToArray(), y = new float[rows];
        double least = double.MaxValue;
        for (int round = 0; round < rounds; round++)
        {
            var watch = Stopwatch.StartNew();
            for (int i = 0; i < calls; i++) rt.Matvec(y, w, x);
            least = Math.Min(least, watch.Elapsed.TotalMilliseconds * 1e6 / calls);
        }
        return least;
    }

    static void PrintCost()
    {
        double small = Best(20, 20000, TensorType.Q8_0, 1, 32), large = Best(100, 5, TensorType.Q4_K, 4096, 4096);
        Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "{0:F1} {1:F0}", small, large));
    }
}
