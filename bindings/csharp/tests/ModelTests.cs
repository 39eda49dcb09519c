// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    static string Story(uint topK, float temperature)
    {
        var file = Demo();
        var model = new Model(Rt, file);
        var tokenizer = new Tokenizer(file);
        var session = new Session(model);
        var info = model.Info;
        file.Dispose();
        model.Dispose(); // the session keeps its dependencies alive
        var sampler = new Sampler(Rt, info.Vocab, 7);
        sampler.AddTopK(topK);
        sampler.AddTemperature(temperature);
        var ids = tokenizer.Tokenize("Once upon a time", TokenizeFlags.AddSpecial).ToList();
        int[] next = ids.ToArray();
        while (ids.Count < 40)
        {
            float logprob;
            int id = sampler.Sample(session.DecodeRows(new[] { new DecodeItem(0, next) }), out logprob);
            That(logprob <= 0);
            if ((tokenizer.TokenInfo(id).Flags & TokenFlags.Eog) != 0) break;
            ids.Add(id);
            next = new[] { id };
        }
        return tokenizer.DetokenizeText(ids.ToArray());
    }

    static void TestTheDemoModelTellsAStory()
    {
        string told = Story(1, 0), warm = Story(40, 1.5f);
        That(told.StartsWith("Once upon a time") && told.Length > 60, told);
        That(told == Story(1, 0) && Story(40, 1.5f) == warm && told != warm);
    }

    static void TestTokens()
    {
        var tokenizer = new Tokenizer(Demo());
        var info = tokenizer.Info;
        That(info.Kind == "llama" && info.Tokens == 1024 && info.Bos == 1 && info.Eos == 2);
        That(info.Flags == (TokenizerFlags.AddBos | TokenizerFlags.AddSpace) && info.Pre == null);
        string text = "The little dog, \u00e9\U0001f600!";
        That(tokenizer.DetokenizeText(tokenizer.Tokenize(text)) == text);
        Fails(Status.Argument, () => tokenizer.TokenInfo(1024));
        Fails(Status.Argument, () => tokenizer.DetokenizeText(new[] { 5000 }));
    }

    static void TestIdsOneByOneGiveWholeCharacters()
    {
        var tokenizer = new Tokenizer(Demo());
        string text = "The little dog, \u00e9\U0001f600!";
        var ids = tokenizer.Tokenize(text);
        var half = ids.Where(id => tokenizer.TokenInfo(id).Text.SequenceEqual(new[] { '<', '0', 'x', 'C', '3', '>' }.Select(c => (byte)c))).ToArray();
        var part = default(DetokenizerState);
        Func<byte[]> finish = () =>
        {
            var last = new DetokenizerState { Waiting = part.Waiting, Flags = DetokenizeFlags.Flush };
            part = default(DetokenizerState);
            return tokenizer.DetokenizeStream(ref last, new int[0]);
        };
        for (int round = 0; round < 2; round++)
        {
            var parts = ids.Select(id => tokenizer.DetokenizeStreamText(ref part, new[] { id })).ToArray();
            That(string.Concat(parts) == text && parts.Count(x => x == "") >= 4, string.Join("|", parts));
            That(finish().Length == 0 && half.Length == 1 && tokenizer.DetokenizeStreamText(ref part, half) == "");
            Fails(Status.Argument, () => tokenizer.DetokenizeStream(ref part, new[] { 5000 }));
            That(finish().SequenceEqual(new byte[] { 0xc3 }));
            That(tokenizer.DetokenizeStreamText(ref part, ids) == text && finish().Length == 0);
        }
        tokenizer.Dispose();
        Throws<ObjectDisposedException>(() => tokenizer.DetokenizeStream(ref part, ids));
    }

    static void TestSpecialTokensAndPreTokenizers()
    {
        var tokenizer = new Tokenizer(Demo());
        TokenizerFacts info = tokenizer.Info;
        That(info.Eos == 2 && info.FimPrefix == -1);
        tokenizer.Dispose();
        Throws<ObjectDisposedException>(() => info = tokenizer.Info);
        var named = Library.PreTokenizers.ToDictionary(pre => pre.Name);
        That(named.Count > 70 && named.Values.All(pre => pre.Rules != ""), named.Count);
        var llama = named["llama-bpe"];
        That((llama.Flags & PreFlags.IgnoreMerges) != 0);
        That(llama.Pipeline.StartsWith("S(?i:") && llama.Pipeline.EndsWith("\0B\0"), llama.Pipeline);
        That(named["gpt-2"].Pipeline == "G\0");
        That(llama.Unicode.StartsWith("15."));
    }

    static void TestDecode()
    {
        var invariant = new SessionOptions { Context = 16, MatmulFlags = MatmulFlags.BatchInvariant };
        var session = new Session(new Model(Rt, Demo()), invariant);
        var ids = new[] { 1, 300, 301, 302 };
        var items = new[] { new DecodeItem(0, ids, DecodeFlags.AllLogits) };
        Fails(Status.Cancelled, () => session.DecodeRows(items, new DecodeOptions { Token = new CancellationToken(true) }));
        var all = new float[4 * 1024];
        var layers = new List<uint>();
        session.Decode(items, view =>
        {
            layers.Add(view.Layer);
            return view.Q.Length == 4 * 256 && view.K.Length == 4 * 128 && view.Out[1023] != 0;
        }, logits: all);
        That(layers.SequenceEqual(new uint[] { 0, 1, 2, 3 }));
        session.Truncate(0, 0);
        That(all.Skip(3 * 1024).SequenceEqual(session.DecodeRows(new[] { new DecodeItem(0, ids) })));
        session.Truncate(0, 2);
        Fails(Status.Capacity, () => session.DecodeRows(new[] { new DecodeItem(0, new int[15]) }));
        That(Fails(Status.Argument, () => session.DecodeRows(new[] { new DecodeItem(0, new[] { 1, 4000 }) })).Index == 0);
        Fails(Status.Cancelled, () => session.Decode(items, view => false, logits: all));
        Throws<InvalidOperationException>(() => session.Decode(items, view => { throw new InvalidOperationException(); }, logits: all));
        That(session.Length(0) == 2);
    }

    static void TestLayersAndOtherKeys()
    {
        var file = Demo();
        var model = new Model(Rt, file);
        var info = model.Info;
        for (uint i = 0; i < info.Layers; i++)
        {
            var layer = model.LayerInfo(i);
            That(layer.Kind == LayerKind.Attention && layer.KvLayer == i && layer.Flags == 0);
            That(layer.Heads == info.Heads && layer.KvHeads == info.KvHeads && layer.Window == 0);
            That(layer.HeadDimK == 64 && layer.HeadDimV == 64 && layer.SinkLogits.Length == 0);
        }
        Fails(Status.Argument, () => model.LayerInfo(info.Layers));
        That(file.ModelDescribeGraph().Contains("token_embd"), file.ModelDescribeGraph());
        Func<string, string, Model> with = (key, value) =>
            new Model(Rt, file, new ModelOptions { Overrides = new Dictionary<string, string> { { key, value } } });
        That(with("llama.context_length", "77").Info.Context == 77);
        Fails(Status.Argument, () => with("llama.nosuch", "1"));
        Fails(Status.Argument, () => with("llama.context_length", "many"));
        Throws<ArgumentException>(() => with("llama.context_length", "7\0"));
        Fails(Status.Cancelled, () => new Model(Rt, file, new ModelOptions { Token = new CancellationToken(true) }));
    }

    static void TestWhatASessionTakes()
    {
        var model = new Model(Rt, Demo());
        var info = new Session(model).Info;
        That(info.Context == 512 && info.Batch == 512 && info.TypeK == TensorType.F16 && info.TypeV == TensorType.F16 && info.Sequences == 1);
        info = new Session(model, new SessionOptions { Context = 600, Batch = 7, TypeK = TensorType.F32, Sequences = 3 }).Info;
        That(info.Context == 600 && info.Batch == 7 && info.TypeK == TensorType.F32 && info.TypeV == TensorType.F16 && info.Sequences == 3);
    }

    static void TestTextsBecomeVectors()
    {
        var file = Demo();
        var model = new Model(Rt, file);
        That(model.Info.Flags == 0); // it predicts; any model embeds
        var texts = new[] { new[] { 1, 300, 301 }, new[] { 5 }, new[] { 1, 302, 303, 304, 305 } };
        var embedder = new Embedder(model);
        That(embedder.Info.Pooling == Pooling.Last && embedder.Info.Dimensions == 256);
        float[] every = embedder.Embed(texts);
        for (int i = 0; i < 3; i++)
            That(embedder.Embed(new[] { texts[i] }).SequenceEqual(every.Skip(i * 256).Take(256)));
        var none = new EmbedOptions { Context = 4, Pooling = Pooling.None, Flags = EmbedFlags.Truncate };
        float[] rows = new Embedder(model, none).Embed(texts);
        That(rows.Length == (3 + 1 + 4) * 256 && rows.Skip(2 * 256).Take(256).SequenceEqual(every.Take(256)));
        var unit = new Embedder(model, new EmbedOptions { Dimensions = 16, Flags = EmbedFlags.Normalize });
        That(Math.Abs(unit.Embed(new[] { texts[0] }).Sum(x => x * x) - 1) < 1e-5);
        That(Rt.EmbedderEstimate(file) > Rt.EmbedderEstimate(file, new EmbedOptions { Context = 8, Batch = 8 }));
        That(Fails(Status.Argument, () => embedder.Embed(new[] { new[] { 1 }, new int[0] })).Index == 1);
        Fails(Status.Argument, () => embedder.Embed(new int[0][]));
        Fails(Status.Cancelled, () => embedder.Embed(texts, new CancellationToken(true)));
        Fails(Status.Unsupported, () => new Embedder(model, new EmbedOptions { Pooling = Pooling.Rank }));
        embedder.Dispose();
        Throws<ObjectDisposedException>(() => embedder.Embed(texts));
    }

    static void TestPerplexity()
    {
        var file = Demo();
        var session = new Session(new Model(Rt, file));
        string text = string.Concat(Enumerable.Repeat("Once upon a time there was a little dog. The dog was happy. ", 6));
        int[] ids = new Tokenizer(file).Tokenize(text);
        ulong n = 0;
        var result = session.EvalPerplexity(ids, 32, 1, new EvalOptions { Report = p => { n++; return true; } });
        That(result.Perplexity > 1 && result.Chunks == n && n > 0);
        Fails(Status.Cancelled, () => session.EvalPerplexity(ids, 32, -1, new EvalOptions { Report = p => false }));
        Fails(Status.Argument, () => new Sampler(Rt, 8, 0).AddTopP(-1));
    }

    static void TestWriting()
    {
        var w = new Writer(Rt);
        w.Set("general.architecture", "test");
        w.Set("a.u8", 200UL, MetaType.U8);
        w.Set("a.i32", -7L, MetaType.I32);
        w.Set("a.f32", 0.5, MetaType.F32);
        w.Set("a.bool", true);
        w.Set("a.array", new short[] { 1, -2, 3 });
        w.Set("a.texts", new[] { "one", "", "two\0" });
        var nested = new BinaryWriter(new MemoryStream()); // two arrays of one u32
        foreach (int v in new[] { 9, 2, 0, 4, 1, 0, 8, 4, 1, 0, 9 }) nested.Write(v);
        w.SetValue("a.nested", MetaType.ARRAY, ((MemoryStream)nested.BaseStream).ToArray());
        var data = new byte[256];
        data[255] = 7;
        using (var tensor = Tensor.Wrap(Rt, TensorType.F32, new ulong[] { 32, 2 }, data, "t0"))
        {
            w.AddTensor(tensor);
            w.AddTensor(tensor, "t1");
        }
        w.AddStream("t2", TensorType.I8, new ulong[] { 64 }, (offset, to) => { for (int i = 0; i < to.Length; i++) to[i] = (byte)(offset + (ulong)i); });
        Fails(Status.Shape, () => w.AddStream("t3", TensorType.Q8_0, new ulong[] { 31 }, (offset, to) => { }));
        string path = Path.GetTempFileName();
        w.Write(path);
        That((ulong)new System.IO.FileInfo(path).Length == w.Info().Bytes);
        var file = GgufFile.Open(Rt, path);
        File.Delete(path);
        Func<string, long> key = name => file.MetaFind(name);
        That(file.MetaU64(key("a.u8")) == 200 && file.MetaI64(key("a.i32")) == -7 && file.MetaBool(key("a.bool")));
        That(file.MetaArrayI64(key("a.array"), 0, 3)[1] == -2 && file.MetaArrayU64(key("a.array"), 2, 1)[0] == 3);
        That(file.MetaArrayString(key("a.texts"), 2) == "two\0" && file.MetaU64(file.MetaArrayNested(key("a.nested"), 1)) == 9);
        That(file.Tensor("t1").Data[255] == 7 && file.Tensor("t2").Data[63] == 63);
        w.Rename("a.u8", "b.u8");
        w.Unset("a.bool");
        Fails(Status.NotFound, () => w.Unset("a.bool"));
        Fails(Status.Value, () => w.Set("a.u8", 256UL, MetaType.U8));
        Fails(Status.Key, () => w.Set("", 1UL));
        var copied = new Writer(Rt);
        copied.CopyMeta(file);
        copied.CopyTensors(file);
        var again = new MemoryStream();
        copied.WriteStream(again);
        That(GgufFile.Open(Rt, again.ToArray()).TensorCount == 3);
        var e = Throws<GgufxIOException>(() => copied.WriteStream((part, bytes) => { throw new InvalidOperationException(); }));
        That(e.InnerException is InvalidOperationException);
        Fails(Status.Cancelled, () => copied.Write(path, new WriteOptions { Token = new CancellationToken(true) }));
        That(!File.Exists(path));
    }
}
