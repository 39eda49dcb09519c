// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using Ggufx;

public static partial class Tests
{
    private static Session SmallSession()
    {
        return new Session(new Model(Rt, Demo()), new SessionOptions { Context = 64 });
    }

    static float Logprob(float[] logits, int id)
    {
        float[] values;
        Rt.Logprobs(1, logits, out values, new[] { id });
        return values[0];
    }

    static void TestLogarithmsOfProbabilities()
    {
        float[] logits = { 0.5f, 3, float.NegativeInfinity, 3, 1 }, values;
        double sum = Math.Log(logits.Sum(x => Math.Exp(x)));
        float chosen = Logprob(logits, 0);
        int[] ids = Rt.Logprobs(3, logits, out values);
        That(ids.SequenceEqual(new[] { 1, 3, 4 }));
        That(Near(values, new[] { (float)(3 - sum), (float)(3 - sum), (float)(1 - sum) }, 1e-6));
        That(Math.Abs(chosen - (0.5 - sum)) < 1e-6, chosen);
        That(float.IsNegativeInfinity(Logprob(logits, 2)));
        Fails(Status.Argument, () => Rt.Logprobs(6, logits, out values));
        Fails(Status.Argument, () => Rt.Logprobs(-1, logits, out values));
        Fails(Status.Argument, () => Rt.Logprobs(1L << 40, logits, out values));
        Fails(Status.Argument, () => Logprob(logits, 5));
        Fails(Status.Value, () => Logprob(new[] { 1, 2, float.NaN }, 0));
    }

    static void TestEndingsOfAContext()
    {
        var session = SmallSession();
        int[] context = { 1, 300, 301 };
        int[][] endings = { new[] { 302 }, new[] { 303, 304 }, new[] { 302, 305, 306 } };
        double[] got = session.EvalContinuations(context, Flat.Lists(endings));
        That(got.Length == 3);
        for (int i = 0; i < endings.Length; i++)
        {
            double sum = 0;
            int[] next = context;
            foreach (int id in endings[i])
            {
                sum += Logprob(session.DecodeRows(new[] { new DecodeItem(0, next) }), id);
                next = new[] { id };
            }
            That(Math.Abs(sum - got[i]) < 0.05, sum); // products of one column and of many have other bits
            session.Truncate(0, 0);
        }
        Fails(Status.Argument, () => session.EvalContinuations(context, Flat.Lists(new[] { 302 }, new int[0])));
        Fails(Status.Capacity, () => session.EvalContinuations(context, Flat.Lists(new int[64])));
        That(session.Length(0) == 0);
    }

    static void TestImatrixOfAModel()
    {
        var session = SmallSession();
        int[] tokens = Enumerable.Range(300, 80).ToArray();
        var m = new Imatrix(session, tokens, 32, 1, new ImatrixOptions { Dataset = "text" });
        That(m.Info.Chunks == 2 && m.Info.ChunkTokens == 32 && m.DatasetAt(0) == "text");
        var q = m.EntryAt(m.Find("blk.0.attn_q.weight"));
        That(q.Counts.SequenceEqual(new[] { 64f }));
        var more = new Imatrix(session, tokens, 32, 1, new ImatrixOptions { Flags = ImatrixFlags.Output });
        That(more.Info.Entries == m.Info.Entries + 1);
        That(more.EntryAt(more.Find("blk.0.attn_q.weight")).Sums.SequenceEqual(q.Sums));
        Fails(Status.Argument, () => new Imatrix(session, tokens.Take(31).ToArray(), 32, -1));
        var fault = new Calls<Progress>(p => { throw new FormatException("of the program"); });
        Throws<FormatException>(() => new Imatrix(session, tokens, 32, -1, new ImatrixOptions { Progress = fault }));
        That(session.Length(0) == 0);
    }
}
