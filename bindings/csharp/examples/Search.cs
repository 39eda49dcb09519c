// Semantic search: finds the text most similar to a question by cosine similarity of embeddings.
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using System.Linq;
using Ggufx;

static class Search
{
    static void Main(string[] args)
    {
        string[] texts = { "The old book was under the bed.", "Nib and Nib played in the village.",
                           "The sun was warm and the sky was blue.", "Where is the book?" };
        var options = new EmbedOptions { Pooling = Pooling.Mean, Flags = EmbedFlags.Normalize };
        using (var rt = new Runtime())
        using (var file = GgufFile.Open(rt, args[0]))
        using (var model = new Model(rt, file))
        using (var tokenizer = new Tokenizer(file))
        using (var embedder = new Embedder(model, options))
        {
            float[] vectors = embedder.Embed(texts.Select(text => tokenizer.Tokenize(text)).ToArray());
            int n = (int)embedder.Info.Dimensions;
            Func<int, float> cosine = text =>
                Enumerable.Range(0, n).Sum(i => vectors[text * n + i] * vectors[3 * n + i]);
            foreach (int text in new[] { 0, 1, 2 }.OrderByDescending(cosine))
                Console.WriteLine(cosine(text).ToString("F3", CultureInfo.InvariantCulture) + " " + texts[text]);
        }
    }
}
