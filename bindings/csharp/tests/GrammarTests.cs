// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using Ggufx;

public static partial class Tests
{
    static Grammar Gbnf(Runtime rt, Tokenizer tokenizer, string text)
    {
        return new Grammar(rt, tokenizer, new GrammarOptions { Kind = GrammarKind.Gbnf, Text = text });
    }

    static Grammar JsonSchema(Tokenizer tokenizer, string schema, GrammarFlags flags = 0)
    {
        return new Grammar(Rt, tokenizer, new GrammarOptions { Kind = GrammarKind.JsonSchema, Text = schema, Flags = flags });
    }

    static bool Ended(Matcher matcher) { return (matcher.Info.Flags & MatcherFlags.Ended) != 0; }

    static void TestAMatcherFollowsAText()
    {
        var tokenizer = new Tokenizer(Demo());
        var grammar = Gbnf(Rt, tokenizer, "root ::= \" the \" [a-z]{3,6} \".\"");
        var m = new Matcher(grammar);
        var begin = m.Info;
        That(begin.Flags == 0 && begin.Tokens == 0 && begin.Vocab == 1024 && begin.Words == 32);
        int[] ids = tokenizer.Tokenize("the cat.");
        foreach (int id in ids)
        {
            That((m.Mask()[id / 32] >> id % 32 & 1) == 1, id);
            m.Accept(new[] { id });
        }
        That(m.Info.Flags == MatcherFlags.Complete && m.Info.Tokens == (ulong)ids.Length);
        var before = m.Clone();
        m.Accept(new[] { 2 }); // </s>
        That(Ended(m) && !Ended(before));
        Fails(Status.State, () => m.Mask());
        before.Rollback((ulong)ids.Length);
        That(before.Info.Tokens == 0 && before.Info.Flags == begin.Flags);
        var words = new uint[33];
        words[32] = 1;
        before.Mask(words);
        That(words[32] == 0 && words.Take(32).SequenceEqual(before.Mask()));
        Fails(Status.Capacity, () => before.Mask(new uint[31]));
        That(Fails(Status.Value, () => before.Accept(new[] { ids[0], ids[1], 2 })).Index == 2);
        Fails(Status.Argument, () => before.Accept(new[] { 1024 }));
        Fails(Status.Argument, () => before.Rollback(1));
        grammar.Dispose();
        before.Accept(ids); // which keeps the grammar
        m.Dispose();
        Throws<ObjectDisposedException>(() => m.Accept(new[] { 1 }));
    }

    static void TestWhatIsSampledFits()
    {
        var tokenizer = new Tokenizer(Demo());
        var grammar = JsonSchema(tokenizer,
            "{\"type\":\"array\",\"items\":{\"enum\":[\"x\",null]},\"minItems\":1,\"maxItems\":2}", GrammarFlags.Compact);
        var fit = new[] { "[null]", "[\"x\"]", "[null,null]", "[\"x\",null]", "[null,\"x\"]", "[\"x\",\"x\"]" };
        for (ulong seed = 0; seed < 20; seed++)
        {
            var sampler = new Sampler(Rt, 1024, seed);
            var m = new Matcher(grammar);
            var ids = new List<int>();
            for (;;)
            {
                float logprob;
                int id = sampler.Sample(new float[1024], out logprob, m);
                That(Math.Abs(logprob + Math.Log(1024)) < 1e-4, logprob);
                if (Ended(m)) break;
                ids.Add(id);
            }
            string text = tokenizer.DetokenizeText(ids.ToArray(), DetokenizeFlags.KeepSpace);
            That(fit.Contains(text), text);
        }
    }

    static void TestFaultsOfGrammarsAreTold()
    {
        var tokenizer = new Tokenizer(Demo());
        var error = Fails(Status.Malformed, () => Gbnf(Rt, tokenizer, "root ::= x"));
        That(error.Message.Contains("line 1, column 10"), error.Message);
        error = Fails(Status.Unsupported, () => JsonSchema(tokenizer, "{\"items\":{\"uniqueItems\":true}}"));
        That(error.Message.Contains("#/items: 'uniqueItems' is supported"), error.Message);
        Fails(Status.Value, () => JsonSchema(tokenizer, "false"));
    }
}
