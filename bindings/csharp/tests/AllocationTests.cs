// Calls of a program's inner loop allocate nothing, counted by the runtime.
// SPDX-License-Identifier: MIT
using System;
using Ggufx;

public static partial class Tests
{
    // Allocations of this thread in a hundred calls; warm-up calls are compiled first.
    static long Allocated(Action call)
    {
        for (int i = 0; i < 3; i++) call();
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 100; i++) call();
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    static void AllocatesNothing(string what, Action call)
    {
        long n = Allocated(call);
        That(n == 0, what + " " + n);
    }

    static void TestProductsAllocateNothing()
    {
        var w = Demo().Tensor("blk.0.attn_q.weight");
        float[] x = Numbers(512), y = new float[512], one = Numbers(256), z = new float[256];
        That(Allocated(() => w.MatVec(Rt, one)) >= 100 * 1024); // a new array is seen
        AllocatesNothing("MatVec", () => Rt.Matvec(z, w, one));
        AllocatesNothing("MatMul", () => Rt.Matmul(y, 0, w, x, 0, 2));
        var rows = new[] { 256, 256 };
        var twice = new[] { w, w };
        AllocatesNothing("MatVecMany", () => Rt.MatvecMany(y, rows, twice, one));
        AllocatesNothing("Dequantize", () => Rt.Dequantize(y, w, 3, 2));
        var blocks = new byte[2 * 272];
        AllocatesNothing("Quantize", () => Rt.QuantizeBlocks(blocks, TensorType.Q8_0, x, 2, 256));
        AllocatesNothing("DequantizeBlocks", () => Rt.DequantizeBlocks(y, TensorType.Q8_0, blocks));
        var experts = Tensor.Wrap(Rt, TensorType.Q8_0, new ulong[] { 256, 1, 2 }, blocks, "experts");
        var ids = new uint[] { 1, 0 };
        var results = new float[2];
        AllocatesNothing("MatMulId", () => Rt.MatmulId(results, 0, experts, ids, 2, one, 0, 1));
    }

    static void TestCachesAllocateNothing()
    {
        var kv = Filled(5);
        kv.Copy(0, 1, 0, 5);
        float[] k = Numbers(64), both = Numbers(128), q = Numbers(128), queries = Numbers(256), to = new float[128], two = new float[256], scores = new float[20];
        var sequences = new uint[] { 0, 1 };
        var at = new[] { 5, 5 };
        var half = new ushort[64];
        AllocatesNothing("Append", () =>
        {
            kv.Append(0, 0, 1, k, v: k);
            kv.Truncate(0, 5);
            kv.AppendHalf(0, 0, 1, HalfFormat.Bf16, half, v: half);
            kv.Truncate(0, 5);
            kv.AppendBatch(0, sequences, at, both, both);
            kv.Truncate(1, 5);
            kv.Truncate(0, 5);
        });
        AllocatesNothing("Attend", () => kv.Attend(to, 0, 0, q, 1));
        AllocatesNothing("AttendBatch", () => kv.AttendBatch(two, 0, sequences, queries));
        AllocatesNothing("Read", () => kv.Read(0, 0, 1, 1, k: k));
        AllocatesNothing("Scores", () => kv.Scores(scores, 0, 0, q, 1, 0));
    }

    static void TestAConversationAllocatesNothing()
    {
        var model = new Model(Rt, Demo());
        var session = new Session(model);
        var embedder = new Embedder(model, new EmbedOptions { Context = 4, Batch = 4 });
        var row = new float[256];
        var lengths = new[] { 1L };
        var sampler = new Sampler(Rt, 1024, 0);
        var ids = new[] { 1 };
        var logits = new float[1024];
        var items = new[] { new BatchItem(0, ids) };
        AllocatesNothing("DecodeBatch", () =>
        {
            session.SequenceTruncate(0, 0);
            session.DecodeBatch(items, null, logits);
        });
        AllocatesNothing("Embed and Sample", () =>
        {
            embedder.Embed(row, ids, lengths);
            float logprob;
            sampler.Sample(logits, out logprob);
        });
    }
}
