// SPDX-License-Identifier: MIT
using System;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Ggufx;

public static partial class Tests
{
    static void TestProducts()
    {
        var file = Demo();
        var w = file.Tensor("blk.0.ffn_down.weight");
        float[] x = Numbers(768), y = w.MatVec(Rt, x, new MatmulOptions { Flags = MatmulFlags.F32 }), rows = new float[256 * 768];
        Rt.Dequantize(rows, w, 0, 256);
        for (int r = 0; r < 256; r++)
        {
            double sum = 0;
            for (int i = 0; i < 768; i++) sum += (double)rows[r * 768 + i] * x[i];
            That(Math.Abs(sum - y[r]) < 1e-4, r);
        }
        var q = file.Tensor("blk.0.attn_q.weight");
        var k = file.Tensor("blk.0.attn_k.weight");
        float[] head = Numbers(256), one = q.MatVec(Rt, head), two = k.MatVec(Rt, head), many = new float[384], both = new float[600];
        Rt.MatvecMany(many, new[] { 256, 128 }, new[] { q, k }, head);
        That(many.SequenceEqual(one.Concat(two)));
        Rt.Matmul(both, 300, q, Numbers(512), 256, 2);
        That(both.Take(256).SequenceEqual(one));
        Fails(Status.Argument, () => Rt.Matvec(new float[255], q, head));
        Fails(Status.Argument, () => Rt.MatvecMany(many, new[] { 256, 129 }, new[] { q, k }, head));
        Fails(Status.Cancelled, () => Rt.Matvec(one, q, head, new MatmulOptions { Token = new CancellationToken(true) }));
        Fails(Status.Shape, () => q.Slice(0, 1, 32));
    }

    static void TestBlocks()
    {
        float[] rows = Numbers(512);
        foreach (var type in new[] { TensorType.Q8_0, TensorType.Q4_K, TensorType.F16 })
        {
            var packed = new byte[2 * type.TypeRowBytes(256)];
            var back = new float[512];
            Rt.QuantizeBlocks(packed, type, rows, 2, 256);
            Rt.DequantizeBlocks(back, type, packed);
            That(Near(back, rows, 0.1), type);
        }
        var blocks = new byte[3 * 4 * 2 * 34];
        Rt.QuantizeBlocks(blocks, TensorType.Q8_0, Numbers(3 * 4 * 64), 12, 64);
        float[] x = Numbers(64), y = new float[8];
        var w = Tensor.Wrap(Rt, TensorType.Q8_0, new ulong[] { 64, 4, 3 }, blocks, "experts");
        Rt.MatmulId(y, 0, w, new uint[] { 2, 0 }, 2, x, 0, 1);
        That(y.Take(4).SequenceEqual(w.Slice(2, 2, 1).MatVec(Rt, x)));
        That(Fails(Status.Argument, () => Rt.MatmulId(y, 0, w, new uint[] { 2, 3 }, 2, x, 0, 1)).Index == 0);
        Fails(Status.Argument, () => Rt.MatmulId(y, 0, w, new uint[] { 2, 1, 0 }, 2, x, 0, 1));
        Fails(Status.Argument, () => Rt.QuantizeBlocks(blocks, TensorType.IQ2_XS, rows, 2, 256));
        Fails(Status.Shape, () => Rt.QuantizeBlocks(blocks, TensorType.Q4_K, rows, 4, 128));
        Fails(Status.Argument, () => Rt.QuantizeBlocks(blocks, TensorType.Q8_0, rows, 1, 500));
        Fails(Status.Argument, () => Rt.QuantizeBlocks(blocks, TensorType.Q8_0, rows, 2, 256, new QuantizeArgs { Imatrix = new float[3] }));
        rows[300] = float.NaN;
        That(Fails(Status.Value, () => Rt.QuantizeBlocks(blocks, TensorType.Q8_0, rows, 2, 256)).Index == 1);
        Fails(Status.Bounds, () => Tensor.Wrap(Rt, TensorType.Q8_0, new ulong[] { 64, 2 }, new byte[100], "w"));
    }

    sealed class Halves : IExecutor
    {
        internal int Calls;
        public int MaxWorkers { get { return 2; } }
        public void ParallelFor(int n, Action<int, int> task)
        {
            Calls++;
            Parallel.For(0, 2, worker => { for (int i = worker; i < n; i += 2) task(i, worker); });
        }
    }

    sealed class BrokenJobs : IExecutor
    {
        public int MaxWorkers { get { return 4; } }
        public void ParallelFor(int n, Action<int, int> task) { throw new InvalidOperationException("jobs"); }
    }

    static void TestHooks()
    {
        var jobs = new Halves();
        var rt = new Runtime(new RuntimeOptions { Executor = jobs, Isa = Isa.Scalar, Log = (level, text) => { } });
        That(rt.Info.IsaName == "scalar" && rt.Info.Threads == 2 && rt.KernelName(TensorType.Q4_K) == "scalar");
        That(rt.KernelName((TensorType)4) == null);
        float[] x = Numbers(2048);
        var blocks = new byte[2048 * 2048 / 32 * 34];
        Rt.QuantizeBlocks(blocks, TensorType.Q8_0, Numbers(2048 * 2048), 2048, 2048);
        var w = Tensor.Wrap(rt, TensorType.Q8_0, new ulong[] { 2048, 2048 }, blocks, "w");
        That(w.MatVec(rt, x).SequenceEqual(w.MatVec(Rt, x)) && jobs.Calls > 0);
        using (var bad = new Runtime(new RuntimeOptions { Executor = new BrokenJobs() }))
            Fails(Status.Internal, () => w.MatVec(bad, x));
        Fails(Status.Unsupported, () => new Runtime(new RuntimeOptions { Isa = (Isa)99, Log = (level, text) => { } }));
        rt.Dispose();
    }

    static void TestDevicesAreListed()
    {
        DeviceFacts[] devices = Rt.DeviceList();
        That(devices.All(d => d.Id != "" && d.Name != null), devices.Length);
        var e = Throws<GgufxException>(() => Device.Open(Rt, "no such device"));
        That(e.Message.Contains("no such device"), e);
        Fails(Status.Argument, () => Rt.DeviceList(new DeviceOptions { Flags = (DeviceOpenFlags)(1u << 31) }));
    }

    static void TestObjectsAreSharedByThreads()
    {
        var w = Demo().Tensor("blk.1.attn_q.weight");
        float[] x = Numbers(256), expected = w.MatVec(Rt, x);
        Parallel.For(0, 80, i => That(w.MatVec(Rt, x).SequenceEqual(expected)));
    }
}
