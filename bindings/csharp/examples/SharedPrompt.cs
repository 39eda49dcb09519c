// Shared prefix: a common prompt is computed once, and sequences share its KV cache.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using Ggufx;

static class SharedPrompt
{
    const string Prompt = "Once upon a time Nib was in the village. The old book was under the bed. " +
        "The sun was warm. Nib and Tuft played and sang. " +
        "Soon it was getting dark. That night they went home. The next day they baked a cake.";

    static void Main(string[] args)
    {
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        using (var model = new Model(rt, file))
        using (var tokenizer = new Tokenizer(file))
        using (var session = new Session(model, new SessionOptions { Sequences = 3 }))
        using (var sampler = new Sampler(rt, model.Info.Vocab, 0))
        {
            sampler.AddTopK(1); // greedy
            int[] ids = tokenizer.Tokenize(Prompt, TokenizeFlags.AddSpecial);
            session.DecodeRows(new[] { new DecodeItem(0, ids, DecodeFlags.Checkpoint) });
            uint to = 0;
            foreach (string text in new[] { " Nib was", " The sun" })
            {
                session.Copy(0, ++to, (ulong)ids.Length);
                int[] next = tokenizer.Tokenize(text);
                var more = new List<int>(next);
                for (int i = 0; i < 9; i++)
                {
                    float logprob;
                    float[] row = session.DecodeRows(new[] { new DecodeItem(to, next) });
                    next = new[] { sampler.Sample(row, out logprob) };
                    if (i < 8) more.Add(next[0]);
                }
                Console.WriteLine(tokenizer.DetokenizeText(more.ToArray()));
            }
            SessionFacts facts = session.Info;
            Console.WriteLine(facts.Tokens + " tokens, " + facts.SharedPages + " shared pages");
        }
    }
}
