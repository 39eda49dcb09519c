// Sampler chains, drafts of generators, comparison with saved logits, cache edits.
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

    static Sampler NewChain(Action<Sampler> add = null)
    {
        var sampler = new Sampler(Rt, 6, 7);
        if (add != null) add(sampler);
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

    static void TestSamplersFilterInOrder()
    {
        Action<Action<Sampler>, int[]> only = (add, ids) => That(Draws(NewChain(add)).All(ids.Contains), ids[0]);
        only(s => s.AddTopK(1), new[] { 1 });
        var biases = new[]
        {
            new LogitBias { Id = 1, Bias = float.NegativeInfinity }, new LogitBias { Id = 4, Bias = -100 },
            new LogitBias { Id = 2, Bias = -100 }, new LogitBias { Id = 0, Bias = 20 },
        };
        only(s => s.AddLogitBias(biases), new[] { 0 });
        only(s => s.AddHost(OnlyThree), new[] { 3 });
    }

    static void TestSamplersSeeWhatWasAccepted()
    {
        var sampler = NewChain(s => s.AddPenalties(new PenaltyOptions { LastN = 8, Frequency = 0.3f, Presence = 0.3f }));
        sampler.AddTopK(1);
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
        var first = NewChain(s => s.AddTemperature(2));
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
        Fails(Status.Cancelled, () => Draws(NewChain(s => s.AddHost(list => false))));
        var sampler = NewChain(s => s.AddHost(list => { throw new InvalidOperationException("of the program"); }));
        var clone = sampler.Clone();
        sampler.Dispose(); // the clone keeps the custom sampler
        sampler = null;
        GC.Collect();
        GC.WaitForPendingFinalizers();
        That(Throws<InvalidOperationException>(() => Draws(clone)).Message == "of the program");
        var last = NewChain(s => s.AddMirostat());
        Fails(Status.State, () => last.AddTopK(1));
        Fails(Status.Argument, () => NewChain(s => s.AddMinP(1.5f)));
        var twice = new[] { new LogitBias { Id = 1, Bias = 1 }, new LogitBias { Id = 1, Bias = 1 } };
        Fails(Status.Duplicate, () => NewChain(s => s.AddLogitBias(twice)));
    }

    static Session DraftSession()
    {
        return new Session(new Model(Rt, Demo()), new SessionOptions { Context = 256 });
    }

    // Sixty ids.
    static int[] Generated(DraftOptions draft, out GeneratorFacts info)
    {
        var ids = new List<int>();
        int[] prompt = Enumerable.Range(0, 40).Select(i => 300 + i % 8).ToArray();
        var session = DraftSession();
        var options = new GeneratorOptions
        {
            Flags = GeneratorFlags.IdsOnly | GeneratorFlags.IgnoreEog, MaxTokens = 60, Draft = draft,
            Sampler = new Sampler(Rt, 1024, 3),
        };
        using (var generator = new Generator(session, options))
        {
            session.Dispose(); // is freed with the generator
            foreach (Event e in generator.Stream(new Prompt { Tokens = prompt })) ids.AddRange(e.Tokens.Select(token => token.Id));
            info = generator.Info;
            That(info.End == End.Length && ids.Count == 60 && info.Tokens == 60 && info.Accepted <= info.Drafted);
        }
        return ids.ToArray();
    }

    static void TestDraftsChangeNoId()
    {
        GeneratorFacts info;
        int[] wanted = Generated(null, out info);
        That(info.Drafted == 0);
        That(Generated(new DraftOptions { Match = 2 }, out info).SequenceEqual(wanted));
        That(Generated(new DraftOptions { Session = DraftSession() }, out info).SequenceEqual(wanted) && info.Drafted > 0);
    }

    static void TestACancelledCallChangesNothing()
    {
        var session = DraftSession();
        var grammar = Gbnf(Rt, new Tokenizer(Demo()), "root ::= \"once\"");
        var generator = new Generator(session, new GeneratorOptions { Grammar = grammar, Draft = new DraftOptions() });
        Fails(Status.State, () => generator.Next());
        generator.SetPrompt(new Prompt { Tokens = new[] { 1, 300 } });
        var cancelled = new CancellationTokenSource();
        cancelled.Cancel();
        Throws<GgufxCanceledException>(() => generator.Next(new StepOptions { Token = cancelled.Token }));
        That(generator.Info.Tokens == 0 && session.Length(0) == 0);
        string text = "";
        Event e = generator.Next();
        for (; e.Kind != EventKind.End; e = generator.Next()) text += e.Text;
        That(text == "once" && e.End == End.Eog);
        var prompt = new Prompt { Tokens = new[] { 1, 300 } };
        e = generator.Stream(prompt, new CancellationTokenSource().Token).Last();
        That(e.Kind == EventKind.End && e.End == End.Eog);
        Fails(Status.Argument, () => generator.Stream(new Prompt()));
        Throws<GgufxCanceledException>(() => generator.Stream(prompt, cancelled.Token).Count());
        That(generator.Next().End == End.Cancelled);
        foreach (Event first in generator.Stream(prompt)) break; // which cancels it, too
        That(generator.Info.State != GeneratorState.Ended && generator.Next().End == End.Cancelled);
        using (IEnumerator<Event> older = generator.Stream(prompt).GetEnumerator())
        {
            That(older.MoveNext());
            IEnumerable<Event> newer = generator.Stream(prompt);
            That(!older.MoveNext());
            older.Dispose();
            That(newer.Last().End != End.Cancelled);
        }
        Fails(Status.Limit, () => new Generator(DraftSession(), new GeneratorOptions { Draft = new DraftOptions { Draft = 32 } }));
        generator.Dispose();
        Throws<ObjectDisposedException>(() => generator.Next());
        var closed = new Generator(session, new GeneratorOptions());
        foreach (Event first in closed.Stream(prompt))
        {
            closed.Dispose();
            break;
        }
    }

    static void TestATextIsMeasuredAgainstSavedLogits()
    {
        var session = SmallSession();
        int[] tokens = Enumerable.Range(300, 128).ToArray();
        string path = Path.GetTempFileName();
        var saved = new MemoryStream();
        var first = session.EvalPerplexity(tokens, 64, 1, new EvalOptions { SavePath = path });
        session.EvalPerplexity(tokens, 64, 1, new EvalOptions { Write = Streams.Writer(saved) });
        That(File.ReadAllBytes(path).SequenceEqual(saved.ToArray()));
        That(first.Chunks == 2 && first.Flags == 0 && first.Perplexity > 1);
        saved.Position = 0;
        int chunks = 0;
        var same = session.EvalPerplexity(tokens, 64, 1, new EvalOptions { Read = Streams.Reader(saved), Report = m => ++chunks > 0 });
        That(same.Kl < 1e-6 && same.SameTopToken == 1 && chunks == 2, same.Kl);
        That(same.Flags == (EvalFlags.Compared | EvalFlags.SameModel) && same.Perplexity == first.Perplexity);
        Fails(Status.Mismatch, () => session.EvalPerplexity(tokens.Skip(1).ToArray(), 63, 1, new EvalOptions { ReferencePath = path }));
        File.Delete(path);
        Fails(Status.Io, () => session.EvalPerplexity(tokens, 64, -1, new EvalOptions { ReferencePath = path }));
        That(session.EvalPerplexity(tokens, 64, -1, new EvalOptions { Stride = 16 }).Chunks == 5);
        Fails(Status.Cancelled, () => session.EvalPerplexity(tokens, 64, -1, new EvalOptions { Report = m => false }));
        That(session.Length(0) == 0);
    }

    static void TestTextsAreEdited()
    {
        var model = new Model(Rt, Demo());
        int width = (int)model.Info.Embedding;
        var session = new Session(model, new SessionOptions { Context = 300, Sequences = 3, ContextTotal = 128, MatmulFlags = MatmulFlags.Tiled });
        That(session.Info.ContextTotal == 128);
        int[] ids = Enumerable.Range(300, 40).ToArray(), places = Enumerable.Range(0, 40).ToArray();
        var table = Demo().Tensor("token_embd.weight");
        var rows = new float[40 * width];
        Rt.Dequantize(rows, table, 300, 40);
        var items = new[]
        {
            new DecodeItem(0, ids) { Flags = DecodeFlags.Logits | DecodeFlags.AllHidden },
            new DecodeItem(1, new int[0]) { InputRows = rows, Positions = places, Flags = DecodeFlags.Logits | DecodeFlags.Hidden },
        };
        float[] both = new float[2 * Row], hidden = new float[41 * width];
        session.Decode(items, null, both, hidden);
        That(both.Take(Row).SequenceEqual(both.Skip(Row)));
        That(hidden.Skip(39 * width).Take(width).SequenceEqual(hidden.Skip(40 * width)));
        That(session.Info.EmbeddedBytes >= (ulong)(4 * rows.Length));
        session.Remove(0, 4, 10);
        session.Shift(0, 4, 26, -10);
        int[] positions, left = session.Tokens(0, 0, 30, out positions);
        That(left.SequenceEqual(ids.Take(4).Concat(ids.Skip(14))) && positions.SequenceEqual(places.Take(30)));
        Fails(Status.Argument, () => session.Remove(0, 4, 27));
        Fails(Status.Argument, () => session.Shift(0, 4, 2, 5));
        Fails(Status.Argument, () => session.DecodeRows(new[] { new DecodeItem(2, ids) { Positions = new int[39] } }));
        ulong before = session.Info.TokensLeft;
        That(Fails(Status.Capacity, () => session.DecodeRows(new[] { new DecodeItem(2, new int[300]) })).Index == 0);
        That(session.Info.TokensLeft == before);
        var all = new MemoryStream();
        session.Save(Constants.AllSequences, all);
        session.Truncate(0, 0);
        all.Position = 0;
        session.Load(Constants.AllSequences, all);
        That(Lengths(session, 30, 40, 0));
    }
}
