// Sampler chains, speculative decoding, comparison with saved logits, cache edits.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    static readonly float[] ChainLogits = { 0.5f, 3, 2.5f, -1, 2.9f, 0 };

    static Sampler NewChain(params SamplerLink[] links)
    {
        var sampler = Sampler.CreateChain(Rt, 6, 7);
        foreach (var link in links) sampler.Add(link);
        return sampler;
    }

    static int[] Draws(Sampler sampler)
    {
        float p;
        return Enumerable.Range(0, 40).Select(i => sampler.Sample(ChainLogits, out p)).ToArray();
    }

    static bool OnlyThree(Span<Candidate> list)
    {
        for (int i = 0; i < list.Length; i++) list[i].Logit = list[i].Id == 3 ? 1 : float.NegativeInfinity;
        return true;
    }

    static void TestLinksFilterInOrder()
    {
        Action<SamplerLink, int[]> only = (link, ids) => That(Draws(NewChain(link)).All(ids.Contains), link.Kind);
        only(new SamplerLink { Kind = LinkKind.TopK, K = 1 }, new[] { 1 });
        var biases = new[]
        {
            new LogitBias { Id = 1, Bias = float.NegativeInfinity }, new LogitBias { Id = 4, Bias = -100 },
            new LogitBias { Id = 2, Bias = -100 }, new LogitBias { Id = 0, Bias = 20 },
        };
        only(new SamplerLink { Kind = LinkKind.Bias, Biases = biases }, new[] { 0 });
        only(new SamplerLink { Kind = LinkKind.Host, Link = OnlyThree }, new[] { 3 });
    }

    static void TestLinksSeeWhatWasAccepted()
    {
        var greedy = new SamplerLink { Kind = LinkKind.TopK, K = 1 };
        var sampler = NewChain(new SamplerLink { Kind = LinkKind.Penalties, Last = 8, Frequency = 0.3f, Presence = 0.3f }, greedy);
        foreach (int wanted in new[] { 1, 4, 2, 1 })
        {
            float p;
            That(sampler.Sample(ChainLogits, out p) == wanted, wanted);
            sampler.Accept(new[] { wanted });
        }
        That(Fails(Status.Argument, () => sampler.Accept(new[] { 2, 6 })).Index == 1);
    }

    static void TestClonesGoOnAsTheFirstOne()
    {
        var first = NewChain(new SamplerLink { Kind = LinkKind.Temperature, Temperature = 2 });
        int[] before = Draws(first);
        var second = first.Clone();
        int[] after = Draws(second);
        That(Draws(first).SequenceEqual(after) && !before.SequenceEqual(after));
        first.Reset();
        That(Draws(first).SequenceEqual(before));
        first.Dispose();
        Throws<ObjectDisposedException>(() => first.Reset());
    }

    static void TestAHostMayStopOrThrow()
    {
        Fails(Status.Cancelled, () => Draws(NewChain(new SamplerLink { Kind = LinkKind.Host, Link = list => false })));
        var sampler = NewChain(new SamplerLink { Kind = LinkKind.Host, Link = list => { throw new InvalidOperationException("of the program"); } });
        var clone = sampler.Clone();
        sampler.Dispose(); // the clone keeps the custom sampler
        sampler = null;
        GC.Collect();
        GC.WaitForPendingFinalizers();
        That(Throws<InvalidOperationException>(() => Draws(clone)).Message == "of the program");
        var last = NewChain(new SamplerLink { Kind = LinkKind.Mirostat, Version = 1 });
        Fails(Status.State, () => last.Add(new SamplerLink { Kind = LinkKind.TopK, K = 1 }));
        Fails(Status.Argument, () => NewChain(new SamplerLink { Kind = LinkKind.MinP, P = 1.5f }));
        var twice = new[] { new LogitBias { Id = 1, Bias = 1 }, new LogitBias { Id = 1, Bias = 1 } };
        Fails(Status.Duplicate, () => NewChain(new SamplerLink { Kind = LinkKind.Bias, Biases = twice }));
    }

    static Session GuessingSession()
    {
        return new Session(new Model(Rt, Demo()), new SessionOptions { Context = 256, MatmulFlags = MatmulFlags.BatchInvariant });
    }

    // Sixty ids, one after another.
    static int[] PlainText(int[] prompt)
    {
        var ids = new List<int>();
        var logits = new float[1024];
        using (var session = GuessingSession())
        using (var sampler = Sampler.CreateChain(Rt, 1024, 3))
        {
            session.Decode(prompt);
            while (ids.Count < 60)
            {
                float p;
                session.Logits(logits);
                ids.Add(sampler.Sample(logits, out p));
                session.Decode(new[] { ids[ids.Count - 1] });
            }
        }
        return ids.ToArray();
    }

    static int[] GuessedText(int[] prompt, SpeculatorOptions options, out SpeculatorFacts info)
    {
        var all = new List<int>();
        int[] ids = new int[20];
        var logprobs = new float[20];
        var session = GuessingSession();
        using (var sampler = Sampler.CreateChain(Rt, 1024, 3))
        using (var speculator = new Speculator(session, options))
        {
            session.Decode(prompt);
            while (all.Count < 60)
            {
                int most = Math.Min(20, 60 - all.Count);
                int n = speculator.Next(ids.AsSpan(0, most), logprobs.AsSpan(0, most), sampler);
                That(n > 0 && logprobs[n - 1] <= 0);
                all.AddRange(ids.Take(n));
            }
            info = speculator.Info;
            That(info.Tokens == 60 && info.Calls + info.Accepted == 60 && info.Accepted <= info.Drafted);
            session.Dispose(); // is freed with the speculator
        }
        return all.ToArray();
    }

    static void TestGuessesChangeNoId()
    {
        SpeculatorFacts info;
        int[] prompt = Enumerable.Range(0, 40).Select(i => 300 + i % 8).ToArray(), wanted = PlainText(prompt);
        That(GuessedText(prompt, new SpeculatorOptions { Match = 2 }, out info).SequenceEqual(wanted));
        That(GuessedText(prompt, new SpeculatorOptions { Draft = GuessingSession() }, out info).SequenceEqual(wanted));
        That(info.Drafted > 0);
        int calls = 0;
        Guess guess = (text, last, into) =>
        {
            int at = text.Length + 1 - prompt.Length; // requested rows
            That(text.Slice(0, prompt.Length).SequenceEqual(prompt) && last == wanted[at - 1]);
            calls++;
            int n = Math.Min(into.Length, wanted.Length - at);
            wanted.AsSpan(at, n).CopyTo(into);
            return n;
        };
        That(GuessedText(prompt, new SpeculatorOptions { Guess = guess }, out info).SequenceEqual(wanted) && calls > 1);
    }

    static void TestGuessingFailsAsAWhole()
    {
        var ids = new int[8];
        var session = GuessingSession();
        var sampler = new Sampler(Rt, 1024);
        var plain = new Speculator(session);
        Fails(Status.State, () => plain.Next(ids, new float[0], sampler));
        session.Decode(new[] { 1, 300 });
        var matcher = new Matcher(Gbnf(Rt, new Tokenizer(Demo()), "root ::= \"once\""));
        while (!Ended(matcher)) plain.Next(ids, new float[0], sampler, matcher);
        session.Decode(new[] { 1 });
        plain.Next(ids, new float[0], sampler);
        ulong length = session.Length;
        var cancelled = new CancellationTokenSource();
        cancelled.Cancel();
        Throws<GgufxCanceledException>(() => plain.Next(ids, new float[0], sampler, null, cancelled.Token));
        That(session.Length == length);
        Guess guess = (text, last, into) => { throw new InvalidOperationException("of the program"); };
        var throws = new Speculator(session, new SpeculatorOptions { Guess = guess });
        session.Decode(new[] { 1 });
        Throws<InvalidOperationException>(() => { while (true) throws.Next(ids, new float[0], sampler); });
        Fails(Status.Argument, () => new Speculator(session, new SpeculatorOptions { NDraft = 32 }));
        Fails(Status.Argument, () => new Speculator(SmallSession()));
        throws.Dispose();
        Throws<ObjectDisposedException>(() => throws.Next(ids, new float[0], sampler));
    }

    static void TestATextIsMeasuredAgainstSavedLogits()
    {
        var session = SmallSession();
        int[] tokens = Enumerable.Range(300, 128).ToArray();
        string path = Path.GetTempFileName();
        var saved = new MemoryStream();
        var first = session.Measure(tokens, 64, 1, new MeasureOptions { SavePath = path });
        session.Measure(tokens, 64, 1, new MeasureOptions { Write = Streams.Writer(saved) });
        That(File.ReadAllBytes(path).SequenceEqual(saved.ToArray()));
        That(first.Chunks == 2 && first.Flags == 0 && first.Perplexity > 1);
        saved.Position = 0;
        int chunks = 0;
        var same = session.Measure(tokens, 64, 1, new MeasureOptions { Read = Streams.Reader(saved), Report = m => ++chunks > 0 });
        That(same.Kl < 1e-6 && same.SameTop == 1 && chunks == 2, same.Kl);
        That(same.Flags == (MeasureFlags.Compared | MeasureFlags.SameModel) && same.Perplexity == first.Perplexity);
        Fails(Status.Mismatch, () => session.Measure(tokens.Skip(1).ToArray(), 63, 1, new MeasureOptions { BasePath = path }));
        File.Delete(path);
        Fails(Status.Io, () => session.Measure(tokens, 64, -1, new MeasureOptions { BasePath = path }));
        That(session.Measure(tokens, 64, -1, new MeasureOptions { Stride = 16 }).Chunks == 5);
        Fails(Status.Cancelled, () => session.Measure(tokens, 64, -1, new MeasureOptions { Report = m => false }));
        That(session.Length == 0);
    }

    static void TestTextsAreEdited()
    {
        var model = new Model(Rt, Demo());
        int width = (int)model.Info.Embedding;
        var session = new Session(model, new SessionOptions { Context = 300, Sequences = 3, ContextTotal = 128, MatmulFlags = MatmulFlags.Tiles });
        That(session.Info.ContextTotal == 128);
        int[] ids = Enumerable.Range(300, 40).ToArray(), places = Enumerable.Range(0, 40).ToArray();
        var table = Demo().Tensor("token_embd.weight");
        var rows = new float[40 * width];
        Rt.Dequantize(rows, table, 300, 40);
        var items = new[]
        {
            new BatchItem(0, ids) { Flags = BatchFlags.Logits | BatchFlags.AllEmbed },
            new BatchItem(1, new int[0]) { Embeddings = rows, Positions = places, Flags = BatchFlags.Logits | BatchFlags.Embed },
        };
        float[] both = new float[2 * Row], hidden = new float[41 * width];
        session.DecodeBatch(items, null, both, hidden);
        That(both.Take(Row).SequenceEqual(both.Skip(Row)));
        That(hidden.Skip(39 * width).Take(width).SequenceEqual(hidden.Skip(40 * width)));
        That(session.Memory().EmbeddedBytes >= (ulong)(4 * rows.Length));
        session.SequenceRemove(0, 4, 10);
        session.SequenceShift(0, 4, 26, -10);
        int[] positions, left = session.SequenceTokens(0, 0, 30, out positions);
        That(left.SequenceEqual(ids.Take(4).Concat(ids.Skip(14))) && positions.SequenceEqual(places.Take(30)));
        Fails(Status.Argument, () => session.SequenceRemove(0, 4, 27));
        Fails(Status.Argument, () => session.SequenceShift(0, 4, 2, 5));
        Fails(Status.Argument, () => session.DecodeRows(new[] { new BatchItem(2, ids) { Positions = new int[39] } }));
        ulong before = session.Memory().TokensLeft;
        That(Fails(Status.Capacity, () => session.DecodeRows(new[] { new BatchItem(2, new int[300]) })).Index == 0);
        That(session.Memory().TokensLeft == before);
        var all = new MemoryStream();
        session.Save(Constants.SessionAll, all);
        session.SequenceTruncate(0, 0);
        all.Position = 0;
        session.Load(Constants.SessionAll, all);
        That(Lengths(session, 30, 40, 0));
    }
}
