// Continuous batching: several prompts in one session; each step decodes one token per sequence.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using Ggufx;

static class Batch
{
    static void Main(string[] args)
    {
        string[] prompts = { "Once upon a time", "The sun", "Nib was" };
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        using (var model = new Model(rt, file))
        using (var tokenizer = new Tokenizer(file))
        using (var session = new Session(model, new SessionOptions { Sequences = 3 }))
        using (var sampler = new Sampler(rt, model.Info.Vocab, 0))
        {
            sampler.AddTopK(1); // greedy
            int vocab = (int)model.Info.Vocab;
            float logprob;
            var next = prompts.Select(p => tokenizer.Tokenize(p, TokenizeFlags.AddSpecial)).ToArray();
            var texts = next.Select(ids => new List<int>(ids)).ToArray();
            for (int step = 0; step < 12; step++)
            {
                var items = next.Select((ids, i) => new DecodeItem((uint)i, ids)).ToArray();
                float[] rows = session.DecodeRows(items);
                for (int i = 0; i < texts.Length; i++)
                {
                    next[i] = new[] { sampler.Sample(rows.AsSpan(i * vocab, vocab), out logprob) };
                    texts[i].Add(next[i][0]);
                }
            }
            foreach (var text in texts) Console.WriteLine(tokenizer.DetokenizeText(text.ToArray()));
        }
    }
}
