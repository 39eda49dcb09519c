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
            generator.SetPrompt(new Prompt { Text = prompt });
            Console.Write(prompt);
            for (Event e = generator.Next(); e.Kind != EventKind.End; e = generator.Next()) Console.Write(e.Text);
            Console.WriteLine();
        }
    }
}
