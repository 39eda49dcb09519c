// Calls whose structs are made of parameters.
// SPDX-License-Identifier: MIT
using System;
using Ggufx;

internal static class Flat
{
    private static KvTokens Tokens(uint layer, uint sequence, long n, Array k, Array v, int[] positions, TensorType type, uint[] sequences)
    {
        return new KvTokens { Layer = layer, Sequence = sequence, Tokens = n, K = k, V = v, Positions = positions, Type = type, Sequences = sequences };
    }

    internal static void Append(this KvCache kv, uint layer, uint sequence, long n, float[] k, float[] v = null, int[] positions = null)
    {
        kv.Append(Tokens(layer, sequence, n, k, v, positions, TensorType.F32, null));
    }

    internal static void AppendHalf(this KvCache kv, uint layer, uint sequence, long n, TensorType type, ushort[] k, ushort[] v = null)
    {
        kv.Append(Tokens(layer, sequence, n, k, v, null, type, null));
    }

    internal static void AppendBatch(this KvCache kv, uint layer, uint[] sequences, int[] positions, float[] k, float[] v)
    {
        kv.Append(Tokens(layer, 0, sequences.Length, k, v, positions, TensorType.F32, sequences));
    }

    internal static void Attend(this KvCache kv, float[] to, uint layer, uint sequence, float[] q, long n, float[] lse = null, int[] positions = null, AttendOptions options = null)
    {
        kv.Attend(to, new KvQueries { Layer = layer, Sequence = sequence, Q = q, Queries = n, Positions = positions }, lse, options);
    }

    internal static void AttendBatch(this KvCache kv, float[] to, uint layer, uint[] sequences, float[] q, int[] positions = null, AttendOptions options = null)
    {
        kv.Attend(to, new KvQueries { Layer = layer, Sequences = sequences, Q = q, Queries = sequences.Length, Positions = positions }, options: options);
    }

    internal static void Read(this KvCache kv, uint layer, uint sequence, ulong first, ulong n, float[] k = null, float[] v = null)
    {
        kv.Read(new KvRange { Layer = layer, Sequence = sequence, First = first, Tokens = n }, k, v);
    }

    internal static void Scores(this KvCache kv, float[] to, uint layer, uint sequence, float[] q, long n, float scale)
    {
        kv.Scores(to, new KvQueries { Layer = layer, Sequence = sequence, Q = q, Queries = n }, scale);
    }

    internal static void QuantizeBlocks(this Runtime rt, byte[] to, TensorType type, float[] rows, long n, long columns, QuantizeArgs args = null)
    {
        args = args ?? new QuantizeArgs();
        args.Type = type;
        args.Rows = rows;
        args.NRows = n;
        args.Cols = columns;
        rt.Quantize(to, args);
    }

    internal static void DequantizeBlocks(this Runtime rt, float[] to, TensorType type, byte[] blocks)
    {
        using (var tensor = Tensor.Wrap(rt, type, new[] { (ulong)to.Length }, blocks, "blocks")) rt.Dequantize(to, tensor, 0, 1);
    }

    internal static TokenList[] Lists(params int[][] texts)
    {
        return Array.ConvertAll(texts, text => new TokenList { Tokens = text });
    }
}
