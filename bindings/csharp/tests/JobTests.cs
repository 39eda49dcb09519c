// A model quantized: planned, changed by a rule, cancelled, resumed, in shards; and edited.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    static Quantizer Plan()
    {
        var options = new QuantizerOptions { Flags = QuantizerFlags.AllowRequantize };
        var q = new Quantizer(Rt, Demo(), Library.FileTypeFind("q4_0"), options);
        q.Choose(t => t.Name.EndsWith("ffn_up.weight") ? TensorType.Q5_1 : (TensorType?)null);
        return q;
    }

    static int Chosen(Quantizer q)
    {
        return q.Tensors.Count(t => t.Reason == QuantizerReason.Override && t.To == TensorType.Q5_1);
    }

    // Path that does not exist.
    static string Free()
    {
        string path = Path.GetTempFileName();
        File.Delete(path);
        return path;
    }

    static void TestFileTypes()
    {
        uint id = Library.FileTypeFind("Q4_K");
        var q4 = Library.FileTypes.Single(t => t.FileType == id);
        That(id == 15 && q4.Name == "Q4_K_M" && q4.Type == TensorType.Q4_K && Library.FileTypes.Count() > 20);
        Fails(Status.NotFound, () => Library.FileTypeFind("Q4_Q"));
        Fails(Status.Argument, () => Library.FileTypeAt(-1));
    }

    static void TestPlans()
    {
        var q = Plan();
        int chosen = Chosen(q);
        That(q.Info.BytesOut < q.Info.BytesIn && chosen > 0 && q.Tensors.Count() == (int)q.Info.Tensors);
        int at = q.Tensors.Select((t, i) => t.Reason == QuantizerReason.Override ? i : -1).First(i => i >= 0);
        double coarse = q.TensorError(at, TensorType.Q4_0, 4096), fine = q.TensorError(at, TensorType.Q8_0, 4096);
        That(fine < coarse / 4, fine + " " + coarse);
        Fails(Status.Cancelled, () => q.TensorError(at, TensorType.Q4_0, 0, new CancellationToken(true)));
        Fails(Status.Argument, () => q.TensorAt((long)q.Info.Tensors));
        Fails(Status.Unsupported, () => q.Choose(t => TensorType.Q8_K));
        That(Chosen(q) == chosen); // a rule that fails leaves the plan
        q.Dispose();
    }

    static void TestCancelledRunsAreResumed()
    {
        string whole = Free(), path = Free();
        Plan().Run(whole);
        var q = Plan();
        var stop = new CancellationTokenSource();
        int seen = 0, again = 0;
        var progress = new Calls<Progress>(p => That(p.Done <= p.Total));
        Fails(Status.Cancelled, () => q.Run(path, new QuantizerRunOptions
        {
            Flags = QuantizerRunFlags.Keep, Token = stop.Token, Progress = progress,
            TensorDone = (i, t) => { if (++seen == 4) stop.Cancel(); return true; },
        }));
        That(!File.Exists(path) && seen >= 4 && progress.Count > 0);
        q.Run(path, new QuantizerRunOptions { Flags = QuantizerRunFlags.Resume | QuantizerRunFlags.Measure, TensorDone = (i, t) => ++again > 0 });
        That(File.ReadAllBytes(whole).SequenceEqual(File.ReadAllBytes(path)));
        That(again > 0 && again < q.Tensors.Count() && q.Tensors.Any(t => t.Rmse > 0));
        Throws<InvalidCastException>(() => Plan().Run(path, new QuantizerRunOptions { TensorDone = (i, t) => { throw new InvalidCastException(); } }));
        File.Delete(whole);
        File.Delete(path);
    }

    static void TestShards()
    {
        string path = Free();
        Fails(Status.NotFound, () => Plan().Finish(path));
        Plan().Run(path, new QuantizerRunOptions { Shard = 1, Shards = 2 });
        Fails(Status.State, () => Plan().Finish(path));
        Plan().Run(path, new QuantizerRunOptions { Shard = 2, Shards = 2 });
        Plan().Finish(path);
        That(GgufFile.Open(Rt, path).Tensors.Count() > 0);
        File.Delete(path);
    }

    static Writer CopyOf(GgufFile file, ulong reserve)
    {
        var w = new Writer(Rt, new WriterOptions { ReserveBytes = reserve });
        w.CopyMeta(file);
        w.CopyTensors(file);
        return w;
    }

    static void TestFilesOfRanks()
    {
        string path = Free();
        var weights = new uint[] { 3, 1 };
        var w = new Writer(Rt);
        w.CopyShard(Demo(), 1, 2, weights);
        w.Write(path);
        var file = GgufFile.Open(Rt, path);
        That(file.Tensors.Count() == 38 && new System.IO.FileInfo(path).Length < 2500000);
        Fails(Status.Mismatch, () => new Model(Rt, file));
        Fails(Status.Unsupported, () => new Writer(Rt).CopyShard(file, 1, 2, weights));
        Fails(Status.Argument, () => new Writer(Rt).CopyShard(Demo(), 2, 2));
        Fails(Status.Argument, () => new Writer(Rt).CopyShard(Demo(), 0, 3, weights));
        var layers = new Writer(Rt);
        layers.CopyShard(Demo(), 1, 2, flags: GroupOptionsFlags.Pipeline);
        layers.Write(path);
        That(GgufFile.Open(Rt, path).Tensors.Count() == 38 && new System.IO.FileInfo(path).Length < 2500000);
        File.Delete(path);
    }

    static void TestEdits()
    {
        string path = Free();
        CopyOf(Demo(), 4096).Write(path);
        var file = GgufFile.Open(Rt, path);
        var w = CopyOf(file, 0);
        w.Set("general.name", "edited");
        That(w.EditInfo(file).InPlace);
        var done = w.Edit(file, path, new EditOptions { Flags = EditFlags.InPlace });
        That(done.InPlace && done.Written < done.Bytes / 10, done.Written);
        w.Set("general.name", new string('x', 100000));
        Fails(Status.Capacity, () => w.Edit(file, path, new EditOptions { Flags = EditFlags.InPlace }));
        That(!Rt.FileRecoverEdit(path));
        File.Delete(path);
    }
}
