// Structured output: constrained decoding of JSON that matches a JSON Schema.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using Ggufx;

static class JsonOutput
{
    const string Schema = @"{""type"": ""object"", ""additionalProperties"": false,
        ""required"": [""name"", ""age"", ""likes""], ""properties"": {
        ""name"": {""enum"": [""Nib"", ""Tom""]}, ""age"": {""type"": ""integer"", ""minimum"": 1, ""maximum"": 9},
        ""likes"": {""type"": ""array"", ""maxItems"": 2, ""items"": {""enum"": [""books"", ""sun""]}}}}";

    static void Main(string[] args)
    {
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        using (var model = new Model(rt, file))
        using (var tokenizer = new Tokenizer(file))
        using (var session = new Session(model))
        using (var sampler = new Sampler(rt, model.Info.Vocab))
        using (var grammar = new Grammar(rt, tokenizer, new GrammarOptions { Kind = GrammarKind.JsonSchema, Flags = GrammarFlags.Compact, Text = Schema }))
        using (var matcher = new Matcher(grammar))
        {
            var logits = new float[model.Info.Vocab];
            int[] next = tokenizer.Tokenize("Once upon a time", TokenizeFlags.AddSpecial);
            var ids = new List<int>();
            while ((matcher.Info.Flags & MatcherFlags.Ended) == 0)
            {
                float logprob;
                session.Decode(next);
                session.Logits(logits);
                next = new[] { sampler.SampleMatching(matcher, logits, out logprob) };
                ids.Add(next[0]);
            }
            Console.WriteLine(tokenizer.DetokenizeText(ids.ToArray()));
        }
    }
}
