// One object of each type is disposed while eight threads call all of them: every call gives its result or
// says that its object is disposed. GGUFX_CLOSE_ROUNDS says how often.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Ggufx;

public static partial class Tests
{
    sealed class Closing
    {
        internal readonly List<Action> Calls = new List<Action>();
        internal readonly List<IDisposable> Objects = new List<IDisposable>();

        T Owned<T>(T made) where T : IDisposable
        {
            Objects.Add(made);
            return made;
        }

        /// Call on an object that is not thread-safe; Dispose may run at the same time.
        void Alone(object one, Action call)
        {
            Calls.Add(() => { lock (one) call(); });
        }

        internal Closing(string path, byte[] imatrix)
        {
            var rt = Owned(new Runtime(new RuntimeOptions { Threads = 1 }));
            var file = Owned(GgufFile.Open(rt, path));
            var other = GgufFile.Open(rt, path); // that no close reaches
            var w = Owned(file.Tensor("output_norm.weight"));
            var part = Owned(w.Slice(0, 0, 8));
            var key = file.MetaFind("general.architecture");
            var model = Owned(new Model(rt, other));
            var tokenizer = Owned(new Tokenizer(other));
            var session = Owned(new Session(model, new SessionOptions { Context = 32, Batch = 1, Sequences = 2 }));
            var embedder = Owned(new Embedder(model, new EmbedOptions { Context = 4, Batch = 4, Dimensions = 8 }));
            var adapter = Owned(new Adapter(model, ControlVector(rt)));
            var sampler = Owned(new Sampler(rt, 8, 0));
            sampler.AddTopK(1);
            var grammar = Owned(Gbnf(rt, tokenizer, "root ::= \"a\"*"));
            var matcher = Owned(new Matcher(grammar));
            var ids = new GeneratorOptions { Flags = GeneratorFlags.IdsOnly | GeneratorFlags.IgnoreEog, Draft = new DraftOptions() };
            var generator = Owned(new Generator(new Session(model, new SessionOptions { Context = 32, Batch = 1 }), ids));
            var kv = Owned(Filled(2));
            var m = Owned(Imatrix.OpenMemory(rt, imatrix));
            var writer = Owned(new Writer(rt));
            var plan = new QuantizerOptions { Flags = QuantizerFlags.AllowRequantize };
            var job = Owned(new Quantizer(rt, other, Library.FileTypeFind("q4_0"), plan));
            string first = job.TensorAt(0).Name;
            float[] logits = { 0, 1, 2, 9, 4, 5, 6, 7 }, q = new float[128], rows = Numbers(32);
            Calls.Add(() => That(rt.Info.Threads == 1, "Runtime.Info"));
            Calls.Add(() => rt.QuantizeBlocks(new byte[34], TensorType.Q8_0, rows, 1, 32));
            Calls.Add(() => That(file.Info.Tensors == 38, "File.Info"));
            Calls.Add(() => That(file.Tensor("output_norm.weight").Info.Name == "output_norm.weight", "File.Tensor"));
            Calls.Add(() => That(file.MetaString(key) == "llama" && file.MetaAt(key).Key == "general.architecture", "Meta"));
            Calls.Add(() => That(w.Info.Name == "output_norm.weight", "Tensor.Info"));
            Calls.Add(() => That(part.Info.Ne[0] == 8, "Slice.Info"));
            Calls.Add(() => That(model.Info.Architecture == "llama", "Model.Info"));
            Calls.Add(() => That(tokenizer.TokenInfo(2).Text.Length == 4, "Tokenizer.Token"));
            Calls.Add(() => That(tokenizer.Tokenize("Once upon a time").Length > 3, "Tokenizer.Encode"));
            var items = new[] { new DecodeItem(1, new[] { 1 }) };
            Alone(session, () =>
            {
                session.Truncate(1, 0);
                That(session.DecodeRows(items).Length == 1024, "Session.Decode");
            });
            Alone(session, () => session.Save(1, new MemoryStream()));
            Alone(session, () => That(session.Info.CacheBytes > 0, "Session.Memory"));
            Alone(embedder, () => That(embedder.Embed(new[] { new[] { 1 } }).Length == 8, "Embedder.Embed"));
            Calls.Add(() => That(adapter.Info.Targets == 2, "Adapter.Info"));
            float logprob;
            Alone(sampler, () => That(sampler.Sample(logits, out logprob) == 3, "Sampler.Sample"));
            Alone(sampler, () => sampler.Clone().Dispose());
            var start = new Prompt { Tokens = new[] { 1 } };
            Alone(generator, () =>
            {
                generator.SetPrompt(start);
                That(generator.Next().Tokens.Length > 0, "Generator.Next");
            });
            Calls.Add(() => new Matcher(grammar).Dispose());
            Alone(matcher, () => That(matcher.Mask().Length == 32, "Matcher.Mask"));
            Calls.Add(() => That(kv.Info(0).Tokens == 2, "KvCache.Stats"));
            Calls.Add(() => kv.Attend(new float[128], 0, 0, q, 1));
            Calls.Add(() => That(m.EntryAt(m.Find("a.weight")).Columns == 2, "Imatrix.Find"));
            Calls.Add(() => That(m.DatasetAt(0) == "text", "Imatrix.Dataset"));
            Alone(writer, () => writer.Set("a.key", true));
            Calls.Add(() => That(job.TensorAt(0).Name == first, "Quantizer.At"));
        }

        /// Calls everything again and again, and each no more once it said that its object is disposed.
        internal void Wear(int first)
        {
            var disposed = new bool[Calls.Count];
            for (int left = Calls.Count; left > 0; Thread.Yield())
            {
                for (int i = 0; i < Calls.Count; i++)
                {
                    int at = (first + i) % Calls.Count;
                    if (disposed[at]) continue;
                    try { Calls[at](); }
                    catch (ObjectDisposedException)
                    {
                        disposed[at] = true;
                        left--;
                    }
                }
            }
        }
    }

    static void TestDisposeWhileThreadsCall()
    {
        string path = ModelPath;
        byte[] imatrix = OldImatrix();
        int rounds;
        if (!int.TryParse(Environment.GetEnvironmentVariable("GGUFX_CLOSE_ROUNDS"), out rounds)) rounds = 60;
        for (int round = 0; round < rounds; round++)
        {
            var closing = new Closing(path, imatrix);
            Exception wrong = null;
            var threads = Enumerable.Range(0, 8).Select(i => new Thread(() =>
            {
                try { closing.Wear(i * 2); }
                catch (Exception e) { wrong = e; }
            })).ToArray();
            foreach (var thread in threads) thread.Start();
            int n = closing.Objects.Count;
            for (int i = 0; i < n; i++)
            {
                for (int j = 0; j < (round + i) % 5; j++) Thread.Yield();
                closing.Objects[(round * 7 + i) % n].Dispose();
            }
            foreach (var thread in threads) thread.Join();
            if (wrong != null) throw wrong;
        }
    }
}
