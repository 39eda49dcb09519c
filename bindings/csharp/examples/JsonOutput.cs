// Structured output: constrained decoding of JSON that matches a JSON Schema.
// SPDX-License-Identifier: MIT
using System;
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
        using (var grammar = new Grammar(rt, tokenizer, new GrammarOptions { Kind = GrammarKind.JsonSchema, Flags = GrammarFlags.Compact, Text = Schema }))
        using (var generator = new Generator(session, new GeneratorOptions { Grammar = grammar }))
        {
            foreach (Event e in generator.Stream(new Prompt { Text = "Once upon a time" })) Console.Write(e.Text);
            Console.WriteLine();
        }
    }
}
