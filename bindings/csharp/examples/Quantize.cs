// Dequantizes the rows of a tensor to f32, quantizes them to Q4_K and back; prints sizes and
// errors.
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using Ggufx;

static class Quantize
{
    static void Main(string[] args)
    {
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        {
            var tensor = file.Tensor("token_embd.weight");
            var info = tensor.Info;
            var type = TensorType.Q4_K.TypeInfo();
            ulong n = info.Ne[0] * info.Rows;
            float[] before = new float[n], after = new float[n];
            var blocks = new byte[n / type.BlockValues * type.BlockBytes];
            rt.Dequantize(before, tensor, 0, info.Rows);
            rt.Quantize(blocks, new QuantizeArgs { Type = TensorType.Q4_K, Rows = before, NRows = (long)info.Rows, Cols = (long)info.Ne[0] });
            using (var smaller = Tensor.Wrap(rt, TensorType.Q4_K, new[] { info.Ne[0], info.Rows }, blocks, ""))
                rt.Dequantize(after, smaller, 0, info.Rows);
            double sum = 0;
            for (int i = 0; i < after.Length; i++)
            {
                double d = (double)after[i] - before[i];
                sum += d * d;
            }
            Console.WriteLine(string.Format(CultureInfo.InvariantCulture,
                "{0} bytes, as q4_K {1}, squared error {2:F6}", info.Bytes, blocks.Length, sum));
        }
    }
}
