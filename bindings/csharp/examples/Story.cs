// Greedy generation: a prompt, then the events of a generator.
// SPDX-License-Identifier: MIT
using System;
using Ggufx;

static class Story
{
    static void Main(string[] args)
    {
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        using (var model = new Model(rt, file))
        using (var session = new Session(model))
        using (var generator = new Generator(session, new GeneratorOptions { MaxTokens = 34 }))
        {
            const string prompt = "Once upon a time";
            Console.Write(prompt);
            foreach (Event e in generator.Stream(new Prompt { Text = prompt })) Console.Write(e.Text);
            Console.WriteLine();
        }
    }
}
