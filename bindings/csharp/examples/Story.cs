// Greedy generation: prefills a prompt, then decodes the most likely token at each step.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using Ggufx;

static class Story
{
    static void Main(string[] args)
    {
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        using (var model = new Model(rt, file))
        using (var tokenizer = new Tokenizer(file))
        using (var session = new Session(model))
        using (var sampler = new Sampler(rt, model.Info.Vocab))
        {
            var logits = new float[model.Info.Vocab];
            int[] next = tokenizer.Tokenize("Once upon a time", TokenizeFlags.AddSpecial);
            var ids = new List<int>(next);
            while (ids.Count < 40)
            {
                session.Decode(next);
                session.Logits(logits);
                float logprob;
                int id = sampler.Sample(logits, out logprob);
                if ((tokenizer.TokenInfo(id).Flags & TokenFlags.End) != 0) break;
                ids.Add(id);
                next = new[] { id };
            }
            Console.WriteLine(tokenizer.DetokenizeText(ids.ToArray()));
        }
    }
}
