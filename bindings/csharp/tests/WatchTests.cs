// Cancellation tokens and progress of calls, and release of callback objects after a call.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.CompilerServices;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    delegate void Followed(CancellationToken token, IProgress<Progress> progress);

    static Dictionary<string, Followed> FollowedCalls(string path)
    {
        var file = Demo();
        byte[] data = File.ReadAllBytes(ModelPath), blocks = new byte[2 * 272];
        var q = file.Tensor("blk.0.attn_q.weight");
        float[] x = Numbers(512), y = new float[512], one = Numbers(256), head = Numbers(128), to = new float[128], two = new float[2];
        var experts = Tensor.Wrap(Rt, TensorType.Q8_0, new ulong[] { 256, 1, 2 }, blocks, "experts");
        var kv = Filled(130);
        var holes = Filled(130);
        holes.Remove(0, 10, 50);
        holes.Remove(0, 20, 50);
        var session = new Session(new Model(Rt, file));
        var m = Imatrix.OpenMemory(Rt, OldImatrix());
        m.Write(path + ".imatrix", ImatrixFormat.Gguf);
        var w = CopyOf(file, 4096);
        w.Write(path + ".file");
        var edited = GgufFile.Open(Rt, path + ".file");
        var edit = CopyOf(edited, 0);
        edit.Set("general.name", "edited");
        var job = Plan();
        Plan().Run(path + ".shards", new QuantizerRunOptions { Shard = 1, Shards = 1 });
        return new Dictionary<string, Followed>
        {
            { "MatVec", (t, p) => Rt.Matvec(new Span<float>(y, 0, 256), q, one, new MatmulOptions { Token = t, Progress = p }) },
            { "MatMul", (t, p) => Rt.Matmul(y, 0, q, x, 0, 2, new MatmulOptions { Token = t, Progress = p }) },
            { "MatVecMany", (t, p) => Rt.MatvecMany(y, new[] { 256, 256 }, new[] { q, q }, one, new MatmulOptions { Token = t, Progress = p }) },
            { "MatMulId", (t, p) => Rt.MatmulId(two, 0, experts, new uint[] { 0, 1 }, 2, one, 0, 1, new MatmulOptions { Token = t, Progress = p }) },
            { "Quantize", (t, p) => Rt.QuantizeBlocks(blocks, TensorType.Q8_0, x, 2, 256, new QuantizeArgs { Token = t, Progress = p }) },
            { "Attend", (t, p) => kv.Attend(to, 0, 0, head, 1, options: new AttendOptions { Token = t, Progress = p }) },
            { "AttendBatch", (t, p) => kv.AttendBatch(to, 0, new uint[] { 0 }, head, options: new AttendOptions { Token = t, Progress = p }) },
            { "Requantize", (t, p) => kv.Requantize(Constants.KvAllLayers, TensorType.Q8_0, TensorType.Q8_0, t, p) },
            { "Compact", (t, p) => holes.Compact(0, t, p) },
            { "Decode", (t, p) => session.DecodeRows(new[] { new DecodeItem(0, new[] { 1 }) }, new DecodeOptions { Token = t, Progress = p }) },
            { "Validate", (t, p) => file.Validate(f => true, ValidateFlags.Deep, t, p) },
            { "Open", (t, p) => GgufFile.Open(Rt, ModelPath, new OpenOptions { Io = IoMode.Read, Token = t, Progress = p }).Dispose() },
            { "OpenMemory", (t, p) => GgufFile.Open(Rt, data, new OpenOptions { Token = t, Progress = p }).Dispose() },
            { "OpenStream", (t, p) => GgufFile.Open(Rt, new MemoryStream(data), new OpenOptions { Token = t, Progress = p }).Dispose() },
            { "Imatrix", (t, p) => Imatrix.Open(Rt, path + ".imatrix", t, p).Dispose() },
            { "Imatrix.Write", (t, p) => m.Write(path + ".again", ImatrixFormat.Gguf, t, p) },
            { "Write", (t, p) => w.Write(path + ".out", new WriteOptions { Token = t, Progress = p }) },
            { "WriteParts", (t, p) => w.WriteStream((part, bytes) => { }, new WriteOptions { Token = t, Progress = p }) },
            { "Edit", (t, p) => edit.Edit(edited, path + ".file", new EditOptions { Flags = EditFlags.InPlace, Token = t, Progress = p }) },
            { "Measure", (t, p) => job.TensorError(0, TensorType.Q4_0, 0, t, p) },
            { "Run", (t, p) => job.Run(path + ".job", new QuantizerRunOptions { Token = t, Progress = p }) },
            { "Finish", (t, p) => Plan().Finish(path + ".shards", t, p) },
        };
    }

    static void RemoveAll(string path)
    {
        foreach (var name in Directory.GetFiles(Path.GetDirectoryName(path), Path.GetFileName(path) + "*")) File.Delete(name);
    }

    static void TestEveryLongCallIsFollowed()
    {
        string path = Free();
        foreach (var call in FollowedCalls(path))
        {
            try
            {
                That(Fails(Status.Cancelled, () => call.Value(new CancellationToken(true), null)) is GgufxCanceledException, call.Key);
                var last = default(Progress);
                var seen = new Calls<Progress>(p =>
                {
                    That((p.Total == 0 || p.Done <= p.Total) && (p.Done >= last.Done || p.Total != last.Total), p.Done); // or another stage
                    last = p;
                });
                call.Value(CancellationToken.None, seen);
                That(seen.Count > 0, call.Key);
            }
            catch (Exception e) { throw new Exception(call.Key, e); }
        }
        RemoveAll(path);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Use(Action<byte[]> use, List<WeakReference> held)
    {
        var mine = new byte[64];
        held.Add(new WeakReference(mine));
        use(mine);
    }

    // How many of n objects are gone, each of which the functions of a call held.
    static int Collected(int n, Action<byte[]> use)
    {
        var held = new List<WeakReference>();
        var thread = new Thread(() => { for (int i = 0; i < n; i++) Use(use, held); });
        thread.Start(); // its stack, where a collector may see what is no reference, ends with it
        thread.Join();
        int gone = 0;
        for (int i = 0; i < 20 && gone < n; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            gone = held.FindAll(h => !h.IsAlive).Count;
        }
        return gone;
    }

    static void TestFunctionsAreLetGo()
    {
        string path = Free();
        byte[] data = File.ReadAllBytes(ModelPath);
        foreach (var call in FollowedCalls(path))
        {
            if (call.Key == "Finish" || call.Key == "Run" || call.Key == "Edit") continue; // once, and slow
            int n = Collected(8, mine => call.Value(CancellationToken.None, new Calls<Progress>(p => mine[0]++)));
            That(n >= 6, call.Key + " " + n);
        }
        That(Collected(8, mine => new Runtime(new RuntimeOptions { Log = (level, text) => mine[0]++ }).Dispose()) >= 6, "log");
        That(Collected(8, mine => new Runtime(new RuntimeOptions { Executor = new HeldJobs(mine) }).Dispose()) >= 6, "executor");
        That(Collected(8, mine => GgufFile.Open(Rt, new HeldStream(data, mine)).Dispose()) >= 6, "stream");
        That(Collected(8, mine => Tensor.Wrap(Rt, TensorType.I8, new ulong[] { 64 }, mine, "w").Dispose()) >= 6, "wrap");
        That(Collected(8, mine => Fails(Status.Bounds, () => Tensor.Wrap(Rt, TensorType.I8, new ulong[] { 65 }, mine, "w"))) >= 6, "no wrap");
        RemoveAll(path);
    }

    sealed class HeldJobs : IExecutor
    {
        private readonly byte[] _held;
        internal HeldJobs(byte[] held) { _held = held; }
        public int MaxWorkers { get { return _held.Length; } }
        public void ParallelFor(int n, Action<int, int> task) { for (int i = 0; i < n; i++) task(i, 0); }
    }

    sealed class HeldStream : MemoryStream
    {
        internal readonly byte[] Held;
        internal HeldStream(byte[] data, byte[] held) : base(data) { Held = held; }
    }
}
