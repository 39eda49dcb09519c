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
        var args = new QuantizeArgs { Type = TensorType.Q8_0, Rows = x, NRows = 2, Cols = 256 };
        AllocatesNothing("Quantize", () => Rt.Quantize(blocks, args));
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
        var floats = new KvTokens { Tokens = 1, K = k, V = k };
        var halves = new KvTokens { Tokens = 1, K = half, V = half, Type = TensorType.BF16 };
        var batch = new KvTokens { Tokens = 2, K = both, V = both, Sequences = sequences, Positions = at };
        var one = new KvQueries { Queries = 1, Q = q };
        var each = new KvQueries { Queries = 2, Q = queries, Sequences = sequences };
        var range = new KvRange { First = 1, Tokens = 1 };
        AllocatesNothing("Append", () =>
        {
            kv.Append(floats);
            kv.Truncate(0, 5);
            kv.Append(halves);
            kv.Truncate(0, 5);
            kv.Append(batch);
            kv.Truncate(1, 5);
            kv.Truncate(0, 5);
        });
        AllocatesNothing("Attend", () => kv.Attend(to, one));
        AllocatesNothing("AttendBatch", () => kv.Attend(two, each));
        AllocatesNothing("Read", () => kv.Read(range, k));
        AllocatesNothing("Scores", () => kv.Scores(scores, one, 0));
    }

    static void TestAConversationAllocatesNothing()
    {
        var model = new Model(Rt, Demo());
        var session = new Session(model);
        var embedder = new Embedder(model, new EmbedOptions { Context = 4, Batch = 4 });
        var row = new float[256];
        var sampler = new Sampler(Rt, 1024, 0);
        var ids = new[] { 1 };
        var lists = Flat.Lists(ids);
        var logits = new float[1024];
        var items = new[] { new DecodeItem(0, ids) };
        AllocatesNothing("Decode", () =>
        {
            session.Truncate(0, 0);
            session.Decode(items, null, logits);
        });
        AllocatesNothing("Embed and Sample", () =>
        {
            embedder.Embed(row, lists);
            float logprob;
            sampler.Sample(logits, out logprob);
        });
    }
}
