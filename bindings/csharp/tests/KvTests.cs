// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    static KvOptions Options()
    {
        return new KvOptions
        {
            NLayers = 2, KvHeads = 2, QHeads = 4, HeadDimK = 32, TypeK = TensorType.F32, TypeV = TensorType.F32,
            Sequences = 3, MaxTokens = 256, RopeStyle = RopeStyle.Interleaved,
        };
    }

    static KvCache Filled(int n)
    {
        var kv = new KvCache(Rt, Options());
        for (uint layer = 0; layer < 2; layer++) kv.Append(layer, 0, n, Numbers(n * 64), v: Numbers(n * 64));
        return kv;
    }

    static float[] Attended(KvCache kv, uint sequence)
    {
        var to = new float[128];
        kv.Attend(to, 0, sequence, Numbers(128), 1);
        return to;
    }

    static void TestAttention()
    {
        var kv = Filled(5);
        float[] q = Numbers(128), k = Numbers(5 * 64), to = new float[128], lse = new float[4];
        kv.Attend(to, 0, 0, q, 1, lse: lse, options: new AttendOptions { Flags = AttendFlags.All });
        for (int head = 0; head < 4; head++)
        {
            int h = head;
            double sum = Enumerable.Range(0, 5).Sum(t => Math.Exp(Enumerable.Range(0, 32).Sum(i => (double)q[h * 32 + i] * k[t * 64 + h / 2 * 32 + i]) / Math.Sqrt(32)));
            That(Math.Abs(Math.Log(sum) - lse[head]) < 1e-5);
        }
        var scores = new float[20];
        kv.Scores(scores, 0, 0, q, 1, 0);
        That(Math.Abs(scores[0] - 2.013767) < 1e-5 && Math.Abs(scores[19] - 0.878741) < 1e-5);
    }

    static void TestSequences()
    {
        var kv = Filled(10);
        float[] before = Attended(kv, 0), two = new float[256];
        kv.Copy(0, 1, 0, 10);
        That(Attended(kv, 1).SequenceEqual(before));
        kv.AttendBatch(two, 0, new uint[] { 0, 1 }, Numbers(128).Concat(Numbers(128)).ToArray());
        That(two.SequenceEqual(before.Concat(before)));
        kv.Remove(1, 2, 2);
        kv.Shift(1, 2, 6, -2);
        That(kv.Positions(1, 0, 8).SequenceEqual(Enumerable.Range(0, 8)));
        kv.Compact(1);
        kv.Truncate(1, 3);
        That(kv.Length(1) == 3);
        kv.Append(0, 2, 1, Numbers(64), v: Numbers(64), positions: new[] { 7 });
        kv.Rollback(2);
        kv.Reserve(2, 64);
        kv.AppendBatch(0, new uint[] { 0, 2 }, new[] { 10, 8 }, Numbers(128), Numbers(128));
        kv.AppendHalf(1, 2, 1, TensorType.BF16, Enumerable.Repeat((ushort)0x3f80, 64).ToArray(), v: new ushort[64]);
        float[] k = new float[64], v = Numbers(64);
        kv.Read(1, 2, 0, 1, k: k, v: v);
        That(k.All(x => x == 1) && v.All(x => x == 0));
        kv.Keep(0);
        kv.Clear();
        That(kv.Info(Constants.KvAllLayers).Tokens == 0 && Rt.KvEstimate(64, Options()) > 64 * 64 * 4 * 2 * 2);
        var layered = Options();
        layered.Layers = new[] { new KvLayerOptions { TypeK = TensorType.Q8_0 }, new KvLayerOptions() };
        That(new KvCache(Rt, layered).Info(0).TypeK == TensorType.Q8_0);
        var centred = Options();
        centred.TypeK = centred.TypeV = TensorType.GX4;
        new KvCache(Rt, centred).Calibrate(0, new float[64], null, null);
        Fails(Status.Argument, () => new KvCache(Rt, centred).Calibrate(0, new float[64], new float[32], null));
    }

    static void TestSnapshots()
    {
        KvCache kv = Filled(70), other = Filled(3);
        var data = new MemoryStream();
        kv.Save(0, data);
        byte[] bytes = data.ToArray();
        other.Load(0, new MemoryStream(bytes));
        That(Attended(other, 0).SequenceEqual(Attended(kv, 0)));
        string path = Path.GetTempFileName();
        kv.SaveFile(Constants.AllSequences, path);
        other.LoadFile(Constants.AllSequences, path);
        File.Delete(path);
        Fails(Status.Io, () => other.LoadFile(0, "/nowhere/snapshot"));
        Fails(Status.Truncated, () => other.Load(0, new MemoryStream(bytes, 0, 100)));
        bytes[bytes.Length - 1] ^= 1;
        Fails(Status.Checksum, () => other.Load(0, new MemoryStream(bytes)));
        That(Attended(other, 0).SequenceEqual(Attended(kv, 0))); // as it was
        var e = Throws<GgufxIOException>(() => kv.Save(0, new MemoryStream(new byte[4])));
        That(e.InnerException is NotSupportedException, e);
    }

    static void TestOtherTypesAndLengths()
    {
        var kv = Filled(80);
        ulong before = kv.Info(0).PageBytes;
        var stop = new CancellationToken(true);
        Fails(Status.Cancelled, () => kv.Requantize(Constants.KvAllLayers, TensorType.Q8_0, (TensorType)Constants.TypeKeep, stop));
        kv.Requantize(Constants.KvAllLayers, TensorType.Q8_0, TensorType.Q8_0);
        That(kv.Info(0).PageBytes < before);
        float[] k = Numbers(64), q = Numbers(128), to = new float[128];
        Fails(Status.Argument, () => kv.Append(0, 0, 1, k, v: k, positions: new[] { 80, 81 }));
        Fails(Status.Argument, () => kv.AppendBatch(0, new uint[] { 0 }, new[] { 80, 81 }, k, k));
        Fails(Status.Argument, () => kv.Append(0, 0, 2, k, v: k));
        Fails(Status.Argument, () => kv.Attend(to, 0, 0, q, 1, lse: new float[3]));
        Fails(Status.Argument, () => kv.Attend(to, 0, 0, q, 1, options: new AttendOptions { AlibiSlopes = new float[3] }));
        Fails(Status.Capacity, () => kv.Append(0, 0, 200, Numbers(200 * 64), v: Numbers(200 * 64)));
        Fails(Status.Cancelled, () => kv.Attend(to, 0, 0, q, 1, options: new AttendOptions { Token = stop }));
        Fails(Status.Argument, () => new KvCache(Rt, new KvOptions()));
        kv.Dispose();
        Throws<ObjectDisposedException>(() => kv.Length(0));
    }
}
