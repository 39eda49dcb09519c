// Many conversations in one session.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    const int Row = 1024;
    static readonly int[] TokensA = { 1, 300, 301, 302, 303 }, TokensB = { 1, 400, 401 };

    static Session Many(MatmulFlags flags = MatmulFlags.BatchInvariant, uint context = 128, TensorType? typeK = null, uint sequences = 3)
    {
        return new Session(new Model(Rt, Demo()), new SessionOptions { Context = context, Sequences = sequences, MatmulFlags = flags, TypeK = typeK });
    }

    // Logits of each token in a separate session.
    static float[] AloneLogits(int[] tokens)
    {
        return Many(sequences: 1).DecodeRows(new[] { new DecodeItem(0, tokens, DecodeFlags.AllLogits) });
    }

    static IEnumerable<float> LastRow(float[] logits) { return logits.Skip(logits.Length - Row); }

    static int[] From(int[] tokens, int first) { return tokens.Skip(first).ToArray(); }

    static bool Lengths(Session s, params ulong[] wanted)
    {
        return wanted.SequenceEqual(new uint[] { 0, 1, 2 }.Select(s.Length));
    }

    static void TestSequencesHaveTheBitsOfSessionsOfTheirOwn()
    {
        float[] a = AloneLogits(TokensA), b = AloneLogits(TokensB), two = new float[2 * Row];
        That(!LastRow(a).SequenceEqual(LastRow(b)));
        var s = Many();
        float[] first = s.DecodeRows(new[] { new DecodeItem(2, TokensB.Take(2).ToArray(), DecodeFlags.None), new DecodeItem(0, TokensA.Take(3).ToArray(), DecodeFlags.AllLogits) });
        That(first.SequenceEqual(a.Take(3 * Row)));
        s.Decode(new[] { new DecodeItem(0, From(TokensA, 3)), new DecodeItem(2, From(TokensB, 2)) }, null, two);
        That(two.SequenceEqual(LastRow(a).Concat(LastRow(b))));
        That(Lengths(s, 5, 0, 3) && s.Length(9) == 0 && s.Info.Tokens == 8);
    }

    static void TestProductsOfACallHaveFlagsOfTheirOwn()
    {
        Session plain = Many(0), f32 = Many(MatmulFlags.F32);
        var items = new[] { new DecodeItem(1, TokensA) };
        float[] wanted = f32.DecodeRows(items);
        That(!plain.DecodeRows(items).SequenceEqual(wanted));
        plain.Truncate(1, 0);
        That(plain.DecodeRows(items, new DecodeOptions { MatmulFlags = MatmulFlags.F32 }).SequenceEqual(wanted));
        f32.Truncate(1, 0);
        That(!f32.DecodeRows(items, new DecodeOptions { MatmulFlags = (MatmulFlags)0 }).SequenceEqual(wanted));
    }

    static void TestSequencesAreCopiedAndCut()
    {
        var s = Many();
        int[] prompt = new[] { 1 }.Concat(Enumerable.Range(300, 70)).ToArray(), nine = { 9 };
        var wanted = LastRow(AloneLogits(prompt.Concat(nine).ToArray()));
        That(s.DecodeRows(new[] { new DecodeItem(0, prompt, DecodeFlags.Checkpoint) }).Length == 0);
        var before = s.Info;
        That(before.Tokens == 71 && before.SharedPages == 0);
        s.Copy(0, 1, 71);
        var after = s.Info;
        That(after.Tokens == 142 && after.SharedPages > 0 && after.Pages > 0 && after.CacheBytes > 0);
        That(s.DecodeRows(new[] { new DecodeItem(1, nine), new DecodeItem(0, nine) }).SequenceEqual(wanted.Concat(wanted)));
        s.Truncate(1, 0);
        That(Lengths(s, 72, 0, 0));
        s.DecodeRows(new[] { new DecodeItem(1, TokensA, DecodeFlags.None) });
        s.Truncate(1, 3);
        That(s.DecodeRows(new[] { new DecodeItem(1, From(TokensA, 3)) }).SequenceEqual(LastRow(AloneLogits(TokensA))));
        Fails(Status.State, () => s.Copy(0, 1, 2));
        Fails(Status.Argument, () => s.Copy(0, 3, 2));
        Fails(Status.Argument, () => s.Copy(0, 2, 73));
        Fails(Status.Argument, () => s.Truncate(1, 6));
    }

    sealed class BrokenStream : MemoryStream
    {
        public override int Read(byte[] buffer, int offset, int count) { throw new NotSupportedException("mine"); }
        public override void Write(byte[] buffer, int offset, int count) { throw new NotSupportedException("mine"); }
    }

    static void TestSequencesAreSavedAndLoaded()
    {
        Session from = Many(), to = Many();
        from.DecodeRows(new[] { new DecodeItem(1, TokensA.Take(4).ToArray(), DecodeFlags.None), new DecodeItem(0, TokensB) });
        var data = new MemoryStream();
        from.Save(1, data);
        byte[] bytes = data.ToArray();
        string path = Path.GetTempFileName();
        from.SaveFile(1, path);
        That(File.ReadAllBytes(path).SequenceEqual(bytes));
        to.Load(2, new MemoryStream(bytes));
        to.LoadFile(0, path);
        File.Delete(path);
        int[] last = From(TokensA, 4);
        var wanted = LastRow(AloneLogits(TokensA));
        That(to.DecodeRows(new[] { new DecodeItem(2, last), new DecodeItem(0, last) }).SequenceEqual(wanted.Concat(wanted)));
        Fails(Status.Truncated, () => to.Load(2, new MemoryStream(bytes, 0, bytes.Length - 1)));
        Fails(Status.Argument, () => to.Load(3, new MemoryStream(bytes)));
        Fails(Status.Mismatch, () => Many(typeK: TensorType.F32).Load(0, new MemoryStream(bytes)));
        bytes[bytes.Length - 1] ^= 1;
        Fails(Status.Checksum, () => to.Load(2, new MemoryStream(bytes)));
        Fails(Status.Io, () => to.LoadFile(0, "/nowhere/snapshot"));
        Fails(Status.Argument, () => from.Save(3, new MemoryStream()));
        That(Throws<GgufxIOException>(() => to.Load(0, new BrokenStream())).InnerException is NotSupportedException);
        That(Throws<GgufxIOException>(() => from.Save(1, new BrokenStream())).InnerException is NotSupportedException);
        That(Lengths(to, 5, 0, 5));
    }

    static void TestABatchFailsAsAWhole()
    {
        var s = Many(context: 16);
        s.DecodeRows(new[] { new DecodeItem(0, TokensA), new DecodeItem(1, TokensB) });
        var five = new[] { 5 };
        var good = new DecodeItem(0, five);
        Func<Status, DecodeItem[], ulong?> index = (status, items) => Fails(status, () => s.DecodeRows(items)).Index;
        That(index(Status.Argument, new[] { good, new DecodeItem(3, five) }) == 1);
        That(index(Status.Argument, new[] { good, new DecodeItem(1, five), good }) == 2);
        That(index(Status.Argument, new[] { good, new DecodeItem(1, new[] { 5, 4000 }) }) == 1);
        That(index(Status.Argument, new[] { good, new DecodeItem() }) == 1);
        That(index(Status.Capacity, new[] { good, new DecodeItem(1, new int[14]) }) == 1);
        var one = new[] { good };
        Fails(Status.Argument, () => s.Decode(one, null, new float[Row - 1]));
        Fails(Status.Argument, () => s.DecodeRows(one, new DecodeOptions { MatmulFlags = MatmulFlags.Tiled | MatmulFlags.BatchInvariant }));
        Fails(Status.Argument, () => s.DecodeRows(new[] { new DecodeItem(0, five, (DecodeFlags)64) }));
        Fails(Status.Cancelled, () => s.DecodeRows(one, new DecodeOptions { Token = new CancellationToken(true) }));
        That(Lengths(s, 5, 3, 0));
        s.Dispose();
        Throws<ObjectDisposedException>(() => s.DecodeRows(one));
        Throws<ObjectDisposedException>(() => s.Length(0));
        Throws<ObjectDisposedException>(() => s.Save(0, new MemoryStream()));
    }
}
