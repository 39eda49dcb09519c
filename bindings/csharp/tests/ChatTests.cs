// SPDX-License-Identifier: MIT
using System.Collections.Generic;
using System.Linq;
using Ggufx;

public static partial class Tests
{
    const string Hello = "[{\"role\": \"user\", \"content\": \"Hi </s> \u00e9\"}]";
    const string Template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}" +
        "{% if add_generation_prompt %}[assistant]{% endif %}";

    static void TestAConversationIsText()
    {
        var chat = new Chat(Rt, null, new ChatOptions { Text = Template, BosToken = "<s>" });
        var said = chat.Render(new ChatRequest { Messages = Hello, Flags = ChatFlags.Generate });
        That(said.Text == "<s>[user]Hi </s> \u00e9</s>[assistant]", said.Text);
        That(said.Runs.Length == 3 && said.Runs[0].End == 9 && said.Runs[1].End == 19 && said.Runs[2].End == 34);
        That(!said.Runs[0].User && said.Runs[1].User && !said.Runs[2].User);
        string many = "[" + string.Join(",", Enumerable.Repeat("{\"role\":\"user\",\"content\":\"xxx\"}", 900)) + "]";
        said = chat.Render(new ChatRequest { Messages = many });
        That(said.Text.Length == 3 + 900 * 13 && said.Runs.Length == 1801);
        var more = new Chat(Rt, null, new ChatOptions { Text = "{{ enable_thinking }} {{ tools }} {{ n }} " +
            "{{ reasoning_effort }} {{ documents[0].t }} {{ strftime_now('%Y') }}" });
        said = more.Render(new ChatRequest { Messages = "[]", Tools = "[]", Documents = "[{\"t\": 1}]", Variables = "{\"n\": 2}",
            ReasoningEffort = "high", Flags = ChatFlags.NoThink, Clock = 0 });
        That(said.Text == "False [] 2 high 1 1970", said.Text);
        Fails(Status.Value, () => more.Render(new ChatRequest { Messages = "[]" }));
        Fails(Status.Malformed, () => new Chat(Rt, null, new ChatOptions { Text = "{% if %}" }));
        Fails(Status.NotFound, () => new Chat(Rt, null, new ChatOptions { Format = "no such" }));
    }

    static void TestFormatsHaveNames()
    {
        That(Chat.Formats.Contains("chatml"));
        foreach (string name in Chat.Formats)
            That(new Chat(Rt, null, new ChatOptions { Format = name }).Render(new ChatRequest { Messages = Hello }).Text.Contains("Hi"), name);
    }

    static void TestNoTextOfAUserIsAControlToken()
    {
        var file = Demo();
        var tokenizer = new Tokenizer(file);
        var chat = new Chat(Rt, file, new ChatOptions { Text = Template });
        var request = new ChatRequest { Messages = Hello, Flags = ChatFlags.Generate };
        int[] ids = chat.Tokenize(tokenizer, request);
        That(ids[0] == 1 && ids.Count(i => i == 1) == 1 && ids.Count(i => i == 2) == 1);
        int[] plain = tokenizer.Encode(chat.Render(request).Text, TokenizeFlags.ParseSpecial);
        That(plain.Count(i => i == 2) == 2);
        That(chat.Tokenize(tokenizer, request, TokenizeFlags.AddSpecial).SequenceEqual(ids));
        string many = "[" + string.Join(",", Enumerable.Repeat(Hello.Substring(1, Hello.Length - 2), 500)) + "]";
        That(chat.Tokenize(tokenizer, new ChatRequest { Messages = many }).Length > 4000);
        Fails(Status.Argument, () => chat.Tokenize(tokenizer, request, (TokenizeFlags)64));
    }

    static void TestWhatAModelSaysIsToldApart()
    {
        var styles = ChatStyles.Think | ChatStyles.Hermes;
        string said = "<think>hm</think>Hi<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>";
        using (var parser = new ChatParser(Rt, styles))
        {
            var told = new List<ChatEvent>();
            foreach (char c in said) told.AddRange(parser.Feed(c.ToString()));
            told.AddRange(parser.Feed(""));
            told.AddRange(parser.Finish());
            var texts = told.GroupBy(t => t.Kind).ToDictionary(g => g.Key, g => string.Concat(g.Select(t => t.Text)));
            That(texts[Constants.ChatReasoning] == "hm" && texts[Constants.ChatAnswer] == "Hi");
            That(texts[Constants.ChatCallName] == "f" && texts[Constants.ChatCallArguments] == "{\"a\":1}" && texts.Count == 4);
            Fails(Status.State, () => parser.Feed("x"));
        }
        var opened = new ChatParser(Rt, styles, "...<think>\n", "[]").Feed("so");
        That(opened.Length == 1 && opened[0].Kind == Constants.ChatReasoning && opened[0].Text == "so");
        Fails(Status.Malformed, () => new ChatParser(Rt, styles, "", "{"));
        That(new Chat(Rt, null, new ChatOptions { Text = "<think>" }).Styles == ChatStyles.Think);
    }
}
