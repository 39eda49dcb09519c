// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    static void TestLibraryFits()
    {
        foreach (var size in NativeSizes.All)
            That(Library.StructSize(size.Key) == size.Value, size.Key);
        That(NativeSizes.All.Count > 25);
        That(Library.Version.StartsWith("0.") && Library.Has("type:q4_K") && !Library.Has("type:none"));
        That(Library.TypeFind("iq4_nl") == TensorType.IQ4_NL && TensorType.Q4_K.TypeInfo().Name == "q4_K");
        That(Library.TypeFind("tq3_0") == TensorType.TQ3_0 && TensorType.Q8_0.TypeInfo().BlockValues == 32);
        That(TensorType.Q4_K.TypeRowBytes(512) == 288);
        Fails(Status.NotFound, () => Library.TypeFind("q4_q"));
        Fails(Status.Type, () => ((TensorType)4).TypeInfo());
    }

    static void TestMetadata()
    {
        using (var file = Demo())
        {
            That(file.MetaCount == 33 && file.TensorCount == 38 && file.Metas.Count() == 33);
            long name = file.MetaFind("general.architecture"), context = file.MetaFind("llama.context_length");
            That(file.MetaString(name) == "llama");
            That(file.MetaBytes(name).Length == 5);
            That(file.MetaU64(context) == 512 && file.MetaI64(context) == 512);
            That(file.MetaF64(file.MetaFind("llama.rope.freq_base")) == 10000);
            long tokens = file.MetaFind("tokenizer.ggml.tokens"), scores = file.MetaFind("tokenizer.ggml.scores");
            var info = file.MetaAt(tokens);
            That(info.Type == MetaType.ARRAY && info.ElementType == MetaType.STRING && info.Count == 1024);
            That(file.MetaArrayString(tokens, 2) == "</s>" && info.Key == "tokenizer.ggml.tokens");
            That(file.MetaArrayF64(scores, 1020, 4)[0] < 0);
            Fails(Status.Argument, () => file.MetaArrayF64(scores, 1021, 4));
            Fails(Status.Argument, () => file.MetaArrayF64(scores, 0, -1));
            Fails(Status.NotFound, () => file.MetaFind("no.such.key"));
            Fails(Status.ValueType, () => file.MetaU64(tokens));
            Fails(Status.ValueType, () => file.MetaArrayNested(tokens, 0));
            Fails(Status.Argument, () => file.MetaArrayString(tokens, 1024));
        }
    }

    static void TestEverySourceGivesTheSame()
    {
        byte[] data = File.ReadAllBytes(ModelPath);
        var ways = new List<Func<GgufFile>>
        {
            () => GgufFile.Open(Rt, ModelPath, new OpenOptions { Io = IoMode.Read }),
            () => GgufFile.Open(Rt, data),
            () => GgufFile.Open(Rt, new MemoryStream(data)),
        };
        foreach (var way in ways)
        {
            var file = way();
            var w = file.Tensor("token_embd.weight");
            var info = w.Info;
            That(info.Type == TensorType.Q8_0 && info.Ne.SequenceEqual(new ulong[] { 256, 1024 }));
            int at = (int)info.FileOffset.Value;
            That(w.Data.SequenceEqual(new ReadOnlySpan<byte>(data, at, (int)info.Bytes)));
            var part = w.Slice(1, 3, 2);
            file.Dispose();
            file.Dispose(); // again
            That(part.Data.SequenceEqual(new ReadOnlySpan<byte>(data, at + 3 * 272, 2 * 272)));
            That(w.Info.Bytes == info.Bytes); // a tensor keeps its file
        }
        var closed = Demo();
        closed.Dispose();
        Throws<ObjectDisposedException>(() => closed.Info.ToString());
        string path = Path.GetTempFileName();
        File.WriteAllBytes(path, new byte[4096].Concat(data).Concat(new byte[5]).ToArray());
        using (var archive = File.OpenRead(path))
        using (var file = GgufFile.OpenFd(Rt, (int)archive.SafeFileHandle.DangerousGetHandle(), 4096, (ulong)data.Length))
            That(file.Info.Tensors == 38);
        File.Delete(path);
    }

    sealed class Broken : MemoryStream
    {
        internal Broken() : base(new byte[4096]) { }
        public override int Read(byte[] buffer, int offset, int count) { throw new InvalidOperationException("mine"); }
    }

    static void TestWhatGoesWrong()
    {
        byte[] data = File.ReadAllBytes(ModelPath);
        var failure = Fails(Status.NotFound, () => GgufFile.Open(Rt, "/nowhere/x.gguf"));
        That(failure is GgufxIOException && failure.Message.Contains("/nowhere/x.gguf") && failure.SystemError != 0);
        Fails(Status.Magic, () => GgufFile.Open(Rt, System.Text.Encoding.ASCII.GetBytes("GGML1234567890123456789012345678")));
        That(failure.Offset == null && failure.Index == null);
        failure = Fails(Status.Truncated, () => GgufFile.Open(Rt, data.Take(1000).ToArray()));
        That(failure.Offset == 1000 && failure.Index == 20 && failure.SystemError == 0);
        var e = Throws<GgufxIOException>(() => GgufFile.Open(Rt, new Broken()));
        That(e.InnerException is InvalidOperationException, e);
        Throws<ArgumentException>(() => GgufFile.Open(Rt, "a\0b"));
        Throws<GgufxArgumentException>(() => Demo().Tensor("token_embd.weight").MatVec(Rt, new float[3]));
        using (var file = GgufFile.Open(Rt, ModelPath, new OpenOptions { Flags = OpenFlags.MetadataOnly }))
            That(file.Tensor("token_embd.weight").Data.IsEmpty);
        Fails(Status.NotFound, () => Demo().Tensor("no.such.tensor"));
    }

    static void TestCancelAnOpen()
    {
        var source = new CancellationTokenSource();
        var calls = new Calls<Progress>(p => source.Cancel());
        var options = new OpenOptions { Io = IoMode.Read, Token = source.Token, Progress = calls };
        var failure = Fails(Status.Cancelled, () => GgufFile.Open(Rt, ModelPath, options));
        var cancelled = (OperationCanceledException)failure.InnerException;
        That(((GgufxCanceledException)failure).Token == source.Token && cancelled.CancellationToken == source.Token);
        That(calls.Count == 1, calls.Count);
        options = new OpenOptions { Io = IoMode.Read, Progress = new Calls<Progress>(p => { throw new InvalidOperationException("progress"); }) };
        That(Throws<InvalidOperationException>(() => GgufFile.Open(Rt, ModelPath, options)).Message == "progress");
        Demo().Dispose(); // all is well afterwards
    }

    static void TestValidate()
    {
        byte[] data = File.ReadAllBytes(ModelPath);
        int at = (int)Demo().Tensor("token_embd.weight").Info.FileOffset.Value;
        data[at] = 0xff;
        data[at + 1] = 0x7f; // the first scale becomes NaN
        using (var file = GgufFile.Open(Rt, data))
        {
            var names = new List<string>();
            file.Validate(f => { names.Add(f.Name); return f.Text != ""; }, ValidateFlags.Deep);
            That(names.Contains("token_embd.weight"), string.Join(" ", names));
            Fails(Status.Cancelled, () => file.Validate(f => false, ValidateFlags.Deep));
            Fails(Status.Cancelled, () => file.Validate(f => true, ValidateFlags.Deep, new CancellationToken(true)));
        }
    }

    static long Mappings()
    {
        return File.ReadAllLines("/proc/self/maps").Count(line => line.EndsWith(".gguf"));
    }

    static void OpenMany(int n, bool dispose)
    {
        for (int i = 0; i < n; i++)
        {
            var file = Demo();
            var slice = file.Tensor("output_norm.weight").Slice(0, 0, 8);
            That(slice.Info.Ne[0] == 8);
            if (!dispose) continue;
            slice.Dispose();
            file.Dispose();
        }
    }

    static void TestAThousandOpensLeaveNothingBehind()
    {
        OpenMany(50, true);
        GC.Collect();
        GC.WaitForPendingFinalizers();
        long before = Mappings();
        int files = Directory.GetFiles("/proc/self/fd").Length;
        OpenMany(1000, true);
        OpenMany(100, false); // the finalizers close these
        for (int i = 0; i < 50; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            if (Mappings() < before + 40 && Directory.GetFiles("/proc/self/fd").Length < files + 20) return;
        }
        That(false, before + " mappings, then " + Mappings());
    }
}
