// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Text;
using Ggufx;

public static partial class Tests
{
    private static Session SmallSession()
    {
        return new Session(new Model(Rt, Demo()), new SessionOptions { Context = 64 });
    }

    static void TestTextsThatEndAGeneration()
    {
        var stop = new Stop(Rt, "</s>", "\u00e9\0");
        Action<string, int, int, int> feed = (text, found, shown, taken) =>
        {
            var info = stop.Feed(Encoding.UTF8.GetBytes(text));
            That(info.Found == found && info.Shown == (ulong)shown && info.Taken == (ulong)taken, text);
        };
        feed("", -1, 0, 0);
        feed("a<", -1, 1, 2);
        feed("/s", -1, 1, 4);
        feed(">b", 0, 1, 5);
        Fails(Status.State, () => stop.Feed(new byte[1]));
        stop.Reset();
        feed("</\u00e9\0", 1, 2, 5);
        That(Fails(Status.Argument, () => new Stop(Rt, "a", "")).Index == 1);
        Fails(Status.Limit, () => new Stop(Rt, new string('a', 1 << 20), "b"));
        stop.Dispose();
        Throws<ObjectDisposedException>(() => stop.Reset());
    }

    static void TestLogarithmsOfProbabilities()
    {
        float[] logits = { 0.5f, 3, float.NegativeInfinity, 3, 1 }, values = new float[3];
        var ids = new int[3];
        double sum = Math.Log(logits.Sum(x => Math.Exp(x)));
        float chosen = Logprobs.Of(Rt, logits, ids, values, 0);
        That(ids.SequenceEqual(new[] { 1, 3, 4 }));
        That(Near(values, new[] { (float)(3 - sum), (float)(3 - sum), (float)(1 - sum) }, 1e-6));
        That(Math.Abs(chosen - (0.5 - sum)) < 1e-6, chosen);
        That(float.IsNegativeInfinity(Logprobs.Of(Rt, logits, new int[0], new float[0], 2)));
        Fails(Status.Argument, () => Logprobs.Of(Rt, logits, new int[6], new float[6]));
        Fails(Status.Argument, () => Logprobs.Of(Rt, logits, ids, new float[2]));
        Fails(Status.Argument, () => Logprobs.Of(Rt, logits, ids, values, 5));
        Fails(Status.Value, () => Logprobs.Of(Rt, new[] { 1, 2, float.NaN }, ids, values));
    }

    static void TestEndingsOfAContext()
    {
        var session = SmallSession();
        int[] context = { 1, 300, 301 };
        int[][] endings = { new[] { 302 }, new[] { 303, 304 }, new[] { 302, 305, 306 } };
        double[] got = session.Endings(context, endings);
        That(got.Length == 3);
        var logits = new float[1024];
        for (int i = 0; i < endings.Length; i++)
        {
            double sum = 0;
            session.Decode(context);
            foreach (int id in endings[i])
            {
                session.Logits(logits);
                sum += Logprobs.Of(Rt, logits, new int[0], new float[0], id);
                session.Decode(new[] { id });
            }
            That(Math.Abs(sum - got[i]) < 0.05, sum); // products of one column and of many have other bits
            session.Truncate(0);
        }
        Fails(Status.Argument, () => session.Endings(context, new[] { new[] { 302 }, new int[0] }));
        Fails(Status.Capacity, () => session.Endings(context, new[] { new int[64] }));
        That(session.Length == 0);
    }

    static void TestImatrixOfAModel()
    {
        var session = SmallSession();
        int[] tokens = Enumerable.Range(300, 80).ToArray();
        var m = Imatrix.Collect(session, tokens, 32, 1, false, "text");
        That(m.Info.Chunks == 2 && m.Info.ChunkTokens == 32 && m.Dataset(0) == "text");
        var q = m.Find("blk.0.attn_q.weight");
        That(q.Counts.SequenceEqual(new[] { 64f }));
        var more = Imatrix.Collect(session, tokens, 32, 1, true);
        That(more.Info.Entries == m.Info.Entries + 1);
        That(more.Find("blk.0.attn_q.weight").Sums.SequenceEqual(q.Sums));
        Fails(Status.Argument, () => Imatrix.Collect(session, tokens.Take(31).ToArray(), 32));
        var fault = new Calls<Progress>(p => { throw new FormatException("of the program"); });
        Throws<FormatException>(() => Imatrix.Collect(session, tokens, 32, progress: fault));
        That(session.Length == 0);
    }
}
