// LoRA adapters and control vectors, in files created by the test.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using Ggufx;

public static partial class Tests
{
    const string Target = "blk.0.attn_q.weight";
    const int Width = 256; // n_embedding of the demo model

    // Text keys, and tensors of a shape with reproducible values.
    static GgufFile MadeFile(Runtime rt, Dictionary<string, string> keys, Dictionary<string, ulong[]> tensors)
    {
        var w = new Writer(rt);
        foreach (var key in keys) w.Set(key.Key, key.Value);
        foreach (var t in tensors)
        {
            float[] values = Numbers((int)t.Value.Aggregate(1UL, (n, extent) => n * extent));
            byte[] data = MemoryMarshal.AsBytes<float>(values).ToArray();
            w.AddTensor(Tensor.Wrap(rt, TensorType.F32, t.Value, data, t.Key));
        }
        string path = Path.GetTempFileName();
        w.Write(path);
        GgufFile file = GgufFile.Open(rt, path);
        File.Delete(path);
        return file;
    }

    static GgufFile LoraFile()
    {
        return MadeFile(Rt, new Dictionary<string, string> { { "general.architecture", "llama" }, { "general.type", "adapter" }, { "adapter.type", "lora" } },
            new Dictionary<string, ulong[]> { { Target + ".lora_a", new ulong[] { Width, 2 } }, { Target + ".lora_b", new ulong[] { 2, Width } } });
    }

    static GgufFile ControlVector(Runtime rt)
    {
        return MadeFile(rt, new Dictionary<string, string> { { "general.architecture", "controlvector" } },
            new Dictionary<string, ulong[]> { { "direction.1", new ulong[] { Width } }, { "direction.2", new ulong[] { Width } } });
    }

    static void TestSequencesHaveTheirOwnAdapters()
    {
        var model = new Model(Rt, Demo());
        var lora = new Adapter(model, LoraFile());
        var control = new Adapter(model, ControlVector(Rt), new AdapterOptions { LastLayer = 1 });
        That(lora.Info.Kind == AdapterKind.Lora && lora.Info.Targets == 1 && lora.Info.Rank == 2);
        That(control.Info.Kind == AdapterKind.Control && control.Info.Targets == 1 && control.Info.Rank == 0);
        var s = new Session(model, new SessionOptions { Context = 16, Sequences = 4, MatmulFlags = MatmulFlags.BatchInvariant });
        s.SetAdapters(1, new AdapterUse(lora));
        s.SetAdapters(2, new AdapterUse(lora, 0.5f), new AdapterUse(control));
        float[] rows = s.DecodeRows(new uint[] { 0, 1, 2 }.Select(i => new DecodeItem(i, TokensA)).ToArray());
        float[][] each = Enumerable.Range(0, 3).Select(i => rows.Skip(i * Row).Take(Row).ToArray()).ToArray();
        That(!each[0].SequenceEqual(each[1]) && !each[1].SequenceEqual(each[2]) && !each[0].SequenceEqual(each[2]));
        That(Fails(Status.State, () => s.SetAdapters(1)).Index == 1);
        Fails(Status.State, () => s.SetAdapters(Constants.AllSequences));
        Fails(Status.Mismatch, () => s.Copy(1, 3, 2));
        s.SetAdapters(3, new AdapterUse(lora));
        s.Copy(1, 3, 4);
        lora.Dispose();
        s.Truncate(1, 0);
        That(s.DecodeRows(new[] { new DecodeItem(1, TokensA) }).SequenceEqual(each[1]));
        Throws<ObjectDisposedException>(() => s.SetAdapters(0, new AdapterUse(control), new AdapterUse(lora)));
        Fails(Status.Argument, () => s.SetAdapters(0, default(AdapterUse)));
        var other = new Session(new Model(Rt, Demo()));
        That(Fails(Status.Mismatch, () => other.SetAdapters(0, new AdapterUse(control))).Index == 0);
    }

    static void TestAdaptersOfEmbeddersRowsAndEstimates()
    {
        GgufFile file = Demo(), of = LoraFile();
        var model = new Model(Rt, file);
        var lora = new Adapter(model, of);
        var embedder = new Embedder(model, new EmbedOptions { Context = 8 });
        var texts = new[] { TokensA };
        float[] plain = embedder.Embed(texts);
        embedder.SetAdapters(new AdapterUse(lora));
        That(!embedder.Embed(texts).SequenceEqual(plain));
        embedder.SetAdapters();
        That(embedder.Embed(texts).SequenceEqual(plain));
        int number = file.Tensors.TakeWhile(t => t.Info.Name != Target).Count();
        That(lora.HasTensor(number) && !lora.HasTensor(number + 1));
        float[] rows = new float[2 * Width], a = Numbers(2 * Width);
        lora.AddRows(rows, number, 5, 2, 0.5f);
        var wanted = Enumerable.Range(0, 2 * Width).Select(i => 0.5f * (a[2 * (5 + i / Width)] * a[i % Width] + a[2 * (5 + i / Width) + 1] * a[Width + i % Width]));
        That(Near(rows, wanted.ToArray(), 1e-6));
        Fails(Status.Argument, () => lora.AddRows(rows, number, Width - 1, 2, 1));
        var without = Rt.Estimate(file);
        var with = Rt.Estimate(file, new EstimateOptions { Adapters = new[] { of } });
        That(with.AdapterBytes > lora.Info.MemoryBytes && with.TotalBytes == without.TotalBytes + with.AdapterBytes + with.AdapterFileBytes);
    }
}
