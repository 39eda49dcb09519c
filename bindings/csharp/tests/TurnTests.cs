// Calls that change an object are exclusive, and arguments that no number of C holds are refused.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    static void TestACallThatChangesAnObjectIsAlone()
    {
        var session = SmallSession();
        int[] tokens = Enumerable.Range(300, 80).ToArray();
        var inside = new ManualResetEventSlim();
        var leave = new ManualResetEventSlim();
        Exception own = null;
        var thread = new Thread(() => session.EvalPerplexity(tokens, 32, 1, new EvalOptions { Report = p =>
        {
            if (inside.IsSet) return true;
            try { session.Truncate(0, 0); }
            catch (Exception e) { own = e; }
            inside.Set();
            leave.Wait();
            return true;
        } }));
        thread.Start();
        inside.Wait();
        That(own is GgufxException && ((GgufxException)own).Status == Status.State, own);
        Fails(Status.State, () => session.Length(0));
        Fails(Status.State, () => session.DecodeRows(new[] { new DecodeItem(0, new[] { 1 }) }));
        session.Dispose(); // does not wait for the call
        leave.Set();
        thread.Join();
        Throws<ObjectDisposedException>(() => session.Length(0));
    }

    static void TestReadingCallsShareAnObject()
    {
        var kv = Filled(3);
        int calls = 0;
        kv.Save(0, data =>
        {
            That(kv.Length(0) == 3);
            if (calls++ == 0) Fails(Status.State, () => kv.Clear());
        });
        That(calls > 0 && Throws<GgufxIOException>(() => kv.Save(0, data => kv.Clear())).InnerException is GgufxException);
        Fails(Status.Argument, () => kv.Truncate(9, 1));
        kv.Clear(); // calls that failed have ended
        That(kv.Length(0) == 0);
        var m = Imatrix.OpenMemory(Rt, OldImatrix());
        Fails(Status.State, () => m.Merge(m));
        m.Merge(Imatrix.OpenMemory(Rt, OldImatrix()));
        var options = new QuantizerOptions { Flags = QuantizerFlags.AllowRequantize, Imatrix = m };
        var progress = new Calls<Progress>(p => Fails(Status.State, () => m.Merge(Imatrix.OpenMemory(Rt, OldImatrix()))));
        m.Write(Free(), ImatrixFormat.Gguf, CancellationToken.None, progress);
        That(progress.Count > 0);
        new Quantizer(Rt, Demo(), Library.FileTypeFind("q4_0"), options).Dispose();
        m.KeepEntries(new byte[] { 1, 0 }); // the plan has let go of it
    }

    static void TestArgumentsThatCHasNoNumberFor()
    {
        var file = Demo();
        That(file.Tensor(38) == null && file.Tensor(37) != null);
        That(Fails(Status.Argument, () => file.Tensor(-1)) is GgufxArgumentException);
        Fails(Status.Argument, () => file.MetaAt(-1));
        Fails(Status.Argument, () => SmallSession().EvalContinuations(new[] { 1 }, new TokenList[1]));
        Fails(Status.Argument, () => Filled(1).Positions(0, 0, ulong.MaxValue));
        Fails(Status.Argument, () => Rt.QuantizeBlocks(new byte[34], TensorType.Q8_0, new float[32], -1, -32));
        Fails(Status.Argument, () => Filled(1).AttendBatch(new float[128], 0, new uint[0], new float[0], positions: new[] { 1, 2 }));
        Throws<ArgumentNullException>(() => file.Validate(null));
        Throws<ArgumentNullException>(() => Filled(1).Save(0, (WriteFunction)null));
        Throws<ArgumentNullException>(() => GgufFile.Open(Rt, (string)null));
    }

    static void TestAStreamOfATensorMayThrow()
    {
        var w = new Writer(Rt);
        w.AddStream("t", TensorType.I8, new ulong[] { 64 }, (offset, to) => { throw new FormatException("of the program"); });
        var e = Throws<GgufxIOException>(() => w.WriteStream(new MemoryStream()));
        That(e.InnerException is FormatException, e);
    }
}
