// Tests each field of the options, so that none is missing or mapped to another one.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Linq;
using Ggufx;

public static partial class Tests
{
    // By the formulas of kv.h, in double.
    static void Attends(AttendOptions options, double first, double last)
    {
        var to = new float[128];
        Filled(5).Attend(to, 0, 0, Numbers(128), 1, options: options);
        That(Math.Abs(to[0] - first) < 1e-5 && Math.Abs(to[127] - last) < 1e-5, to[0] + " " + to[127]);
    }

    static void TestAttendOptions()
    {
        Attends(new AttendOptions(), -0.907634, -0.748555);
        Attends(new AttendOptions { Scale = 0.3f }, -0.926654, -0.763931);
        Attends(new AttendOptions { Softcap = 0.5f }, -0.874823, -0.724180);
        Attends(new AttendOptions { Window = 2 }, -0.795041, -0.638277);
        Attends(new AttendOptions { AlibiSlopes = new[] { 0.1f, 0.2f, 0.3f, 0.4f } }, -0.897601, -0.703808);
        Attends(new AttendOptions { SinkLogits = new[] { 0.5f, 1, 1.5f, 2 } }, -0.845248, -0.536932);
    }

    static KvCache Cache(Action<KvOptions> change)
    {
        var options = Options();
        change(options);
        return new KvCache(Rt, options);
    }

    static void TestKvOptions()
    {
        var k = new float[64];
        var table = new[] { 0.5, 0.158113883, 0.05, 0.0158113883 }; // the same
        foreach (var turned in new[]
        {
            Cache(o => { o.RopeDims = 8; o.RopeBase = 100; o.RopeScale = 0.5f; }),
            Cache(o => { o.RopeDims = 8; o.RopeFrequencies = table; }),
        })
        {
            for (uint layer = 0; layer < 2; layer++) turned.Append(layer, 0, 1, Numbers(64), v: Numbers(64));
            turned.Shift(0, 0, 1, 1);
            turned.Read(0, 0, 0, 1, k: k);
            That(Near(k.Take(4).ToArray(), new[] { -1.307774f, 0.335124f, 0.702069f, 0.856494f }, 1e-5));
            That(k.Skip(8).Take(24).SequenceEqual(Numbers(64).Skip(8).Take(24)));
        }
        foreach (var n in new uint[] { 8, Constants.KvNoSinks }) // those stay F16
        {
            var sinks = Cache(o => { o.TypeK = o.TypeV = KvType.Q8_0; o.Sinks = n; });
            sinks.Append(0, 0, 128, Numbers(128 * 64), v: Numbers(128 * 64));
            int token = n == 8 ? 6 : 2;
            sinks.Read(0, 0, (ulong)token, 1, k: k);
            That(Near(k, Numbers(7 * 64).Skip(token * 64).Take(64).ToArray(), 6e-4) == (n == 8), n);
        }
        var layer0 = new KvLayer { TypeK = KvType.F32, TypeV = KvType.F32, Window = 2 };
        var narrow = Cache(o => o.Layers = new[] { layer0, new KvLayer() });
        narrow.Append(0, 0, 5, Numbers(320), v: Numbers(320));
        That(Math.Abs(Attended(narrow, 0)[0] + 0.795041) < 1e-5);
        layer0.WindowKind = WindowKind.Chunked;
        var chunked = Cache(o => o.Layers = new[] { layer0, new KvLayer() });
        chunked.Append(0, 0, 5, Numbers(320), v: Numbers(320));
        That(Math.Abs(Attended(chunked, 0)[0] - Numbers(320)[256]) < 1e-5); // only the token itself
        var slim = Cache(o => o.HeadDimV = 16);
        slim.Append(0, 0, 1, Numbers(64), v: Numbers(32));
        slim.Attend(new float[64], 0, 0, Numbers(128), 1);
        Cache(o => { o.Flags = KvFlags.VInK; o.HeadDimV = 16; }).Append(0, 0, 1, Numbers(64));
        var data = new MemoryStream();
        Cache(o => o.Model = 7).Save(0, data);
        data.Position = 0;
        Fails(Status.Mismatch, () => Cache(o => o.Model = 8).Load(0, data));
    }

    static void TestSessionOptions()
    {
        var model = new Model(Rt, Demo());
        var ids = new[] { 1, 300, 301, 302 };
        var all = new[]
        {
            new SessionOptions(), new SessionOptions { TypeK = KvType.F32 }, new SessionOptions { TypeV = KvType.F32 },
            new SessionOptions { TypeK = KvType.F32, TypeV = KvType.F32 }, new SessionOptions { MatmulFlags = MatmulFlags.F32 },
        };
        var seen = all.Select(o =>
        {
            var logits = new float[1024];
            var one = new Session(model, o);
            one.Decode(ids);
            one.Logits(logits);
            return logits[5];
        });
        That(seen.Distinct().Count() == 5);
        int calls = 0;
        Fails(Status.Argument, () => new Session(model, new SessionOptions { Checkpoints = 4097 }));
        new Session(model, new SessionOptions { Checkpoints = Constants.SessionNoCheckpoints }).Dispose();
        Fails(Status.Argument, () => Rt.Estimate(Demo(), new EstimateOptions { Checkpoints = 4097 }));
        new Session(model, new SessionOptions { Batch = 2 }).Decode(ids, view =>
        {
            calls++;
            return view.Tokens == 2 && view.FirstToken == (ulong)(2 * ((calls - 1) / 4));
        });
        That(calls == 8, calls);
    }

    static int[] Draws(SamplerOptions options)
    {
        options.Temperature = 100;
        var sampler = new Sampler(Rt, 4, options);
        var logits = new float[] { 0, 1, 2, 3 };
        float logprob;
        return Enumerable.Range(0, 30).Select(i => sampler.Sample(logits, out logprob)).ToArray();
    }

    static void TestSamplerOptions()
    {
        foreach (var o in new[] { new SamplerOptions { TopK = 1 }, new SamplerOptions { TopP = 0.01f }, new SamplerOptions { MinP = 0.9f } })
            That(Draws(o).All(id => id == 3));
        That(Draws(new SamplerOptions { TopP = 0.2f }).All(id => id == 3));
        That(Draws(new SamplerOptions { MinP = 0.2f }).Any(id => id == 2)); // 0.37 of the likeliest one's
        var one = Draws(new SamplerOptions { Seed = 1 });
        That(one.SequenceEqual(Draws(new SamplerOptions { Seed = 1 })) && !one.SequenceEqual(Draws(new SamplerOptions { Seed = 2 })));
    }

    static Quantizer Planned(JobOptions options)
    {
        options.Flags |= JobFlags.AllowRequantize;
        return Quantizer.Quantize(Rt, Demo(), Library.FileTypeFromName("q4_0"), options);
    }

    static void TestQuantizerOptions()
    {
        Func<JobOptions, TensorType> embedding = o => Planned(o).Tensors.First(t => t.Name == "token_embd.weight").To;
        That(embedding(new JobOptions { EmbeddingType = TensorType.Q5_0, Flags = JobFlags.EmbeddingType }) == TensorType.Q5_0);
        That(embedding(new JobOptions { OutputType = TensorType.Q5_1, Flags = JobFlags.OutputType }) == TensorType.Q5_1); // it is the output, too
        ulong more = Planned(new JobOptions { ReserveBytes = 65536 }).Info.FileBytes - Planned(new JobOptions()).Info.FileBytes;
        That(more >= 65536 && more < 65536 + 200, more);
        string path = Free();
        var q = Planned(new JobOptions { Imatrix = Imatrix.OpenMemory(Rt, OldImatrix()), ImatrixName = "calibration.dat" });
        That(q.Info.Missing > 0);
        q.Run(path);
        using (var file = GgufFile.Open(Rt, path)) That(file["quantize.imatrix.file"].ToString() == "calibration.dat");
        File.Delete(path);
    }

    static void TestFileAndRuntimeOptions()
    {
        var info = new Runtime(new RuntimeOptions { Threads = 3, WorkspaceBytes = 3 << 20 }).Info;
        That(info.Threads == 3 && info.WorkspaceBytes == 3 << 20, info.WorkspaceBytes);
        Fails(Status.Limit, () => GgufFile.Open(Rt, ModelPath, new OpenOptions { MaxMetadataBytes = 1000 }));
        var w = new Writer(Rt, new WriterOptions { Version = 2 });
        w.CopyMeta(Demo());
        w.CopyTensors(Demo());
        That(w.Info().Parts == 1 && w.Info(new WriteOptions { MaxPartTensors = 2 }).Parts == 19);
        That(w.Info(new WriteOptions { MaxPartBytes = 1 << 20 }).Parts > 2);
        var data = new MemoryStream();
        w.WriteStream(data);
        That(GgufFile.Open(Rt, data.ToArray()).Info.Version == 2);
    }

    static void TestOpenLimits()
    {
        string path = ModelPath;
        Fails(Status.Limit, () => GgufFile.Open(Rt, path, new OpenOptions { MaxMetadataBytes = 1000 }));
        Fails(Status.Limit, () => GgufFile.Open(Rt, path, new OpenOptions { MaxKeys = 32 }));
        Fails(Status.Limit, () => GgufFile.Open(Rt, path, new OpenOptions { MaxTensors = 37 }));
        Fails(Status.Limit, () => GgufFile.Open(Rt, path, new OpenOptions { MaxStringBytes = 10 }));
        using (var file = GgufFile.Open(Rt, path, new OpenOptions { MaxKeys = 33, MaxTensors = 38, MaxStringBytes = 4096 }))
            That(file.TensorCount == 38 && file.Info.Missing == 0);
    }
}
