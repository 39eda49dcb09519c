// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"reflect"
	"strings"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const (
	hello    = `[{"role": "user", "content": "Hi </s> é"}]`
	template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}" +
		"{% if add_generation_prompt %}[assistant]{% endif %}"
	// Calls as [CALL]NAME[ID]ID[ARGS]{...}[END], and with tags around each parameter.
	calls = "{{ tools }}{% for m in messages %}<think>{{ m.reasoning_content }}</think>{{ m.content }}" +
		"{% for c in m.tool_calls %}[CALL]{{ c.function.name }}[ID]{{ c.id }}" +
		"[ARGS]{{ c.function.arguments | tojson }}[END]{% endfor %}{% endfor %}"
	tags = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}" +
		`<call name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}` +
		`<p name="{{ k }}" string="{{ 'true' if v is string else 'false' }}">` +
		"{{ v if v is string else v | tojson }}</p>{% endfor %}</call>{% endfor %}{% endfor %}"
	tools = `[{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
		"properties": {"a": {"type": "integer"}, "s": {"type": "string"}}}}}]`
)

type event struct {
	kind ggufx.EventKind
	call int
	text string
}

// eventsOf takes the events of a parser; neighbours of one kind are one.
func eventsOf(t *testing.T, parser *ggufx.ChatParser) []event {
	var all []event
	for {
		e := must[ggufx.Event](t)(parser.Poll())
		last := len(all) - 1
		if e.Kind == ggufx.EventKindNone {
			return all
		}
		if last >= 0 && all[last].kind == e.Kind && all[last].call == int(e.Index) {
			all[last].text += e.Text
		} else {
			all = append(all, event{e.Kind, int(e.Index), e.Text})
		}
	}
}

func newChat(t *testing.T, rt *ggufx.Runtime, f *ggufx.File, options ggufx.ChatTemplateOptions) *ggufx.ChatTemplate {
	return must[*ggufx.ChatTemplate](t)(rt.NewChatTemplate(f, &options))
}

func TestAConversationIsText(t *testing.T) {
	rt := newRuntime(t)
	chat := newChat(t, rt, nil, ggufx.ChatTemplateOptions{Text: template, BosToken: "<s>"})
	request := &ggufx.ChatRequest{MessagesJSON: hello, Flags: ggufx.ChatGenerate}
	text, runs := must[string](t)(chat.Render(request)), must[[]ggufx.ChatSpan](t)(chat.Spans(request))
	check(t, text == "<s>[user]Hi </s> é</s>[assistant]", text)
	check(t, reflect.DeepEqual(runs, []ggufx.ChatSpan{{9, false}, {19, true}, {34, false}}), runs)
	long := "[" + strings.Repeat(`{"role":"user","content":"xxx"},`, 900)
	request = &ggufx.ChatRequest{MessagesJSON: long[:len(long)-1] + "]"}
	text, runs = must[string](t)(chat.Render(request)), must[[]ggufx.ChatSpan](t)(chat.Spans(request))
	check(t, len(text) == 3+900*13 && len(runs) == 1801, len(text), len(runs))
	more := newChat(t, rt, nil, ggufx.ChatTemplateOptions{Text: "{{ enable_thinking }} {{ tools }} {{ n }} " +
		"{{ reasoning_effort }} {{ documents[0].t }} {{ strftime_now('%Y') }}"})
	text, err := more.Render(&ggufx.ChatRequest{MessagesJSON: "[]", Tools: "[]", Documents: `[{"t": 1}]`,
		Variables: `{"n": 2}`, ReasoningEffort: "high", Flags: ggufx.ChatNoThink | ggufx.ChatClock})
	ok(t, err)
	check(t, text == "False [] 2 high 1 1970", text)
	_, err = more.Render(&ggufx.ChatRequest{MessagesJSON: "[]"})
	fails(t, err, ggufx.StatusValue)
	_, err = rt.NewChatTemplate(nil, &ggufx.ChatTemplateOptions{Text: "{% if %}"})
	fails(t, err, ggufx.StatusMalformed)
	_, err = rt.NewChatTemplate(nil, &ggufx.ChatTemplateOptions{Format: "no such"})
	fails(t, err, ggufx.StatusNotFound)
	ok(t, chat.Close())
	_, err = chat.Render(&ggufx.ChatRequest{MessagesJSON: hello})
	fails(t, err, ggufx.StatusArgument)
}

func TestFormatsHaveNames(t *testing.T) {
	rt, found := newRuntime(t), false
	for i := 0; ggufx.ChatTemplateBuiltinName(i) != ""; i++ {
		name := ggufx.ChatTemplateBuiltinName(i)
		found = found || name == "chatml"
		text, err := newChat(t, rt, nil, ggufx.ChatTemplateOptions{Format: name}).Render(&ggufx.ChatRequest{MessagesJSON: hello})
		ok(t, err)
		check(t, strings.Contains(text, "Hi"), name)
	}
	check(t, found)
}

func TestATemplateShowsItsFormats(t *testing.T) {
	rt := newRuntime(t)
	for text, want := range map[string]ggufx.ChatTemplateFacts{
		template:      {},
		"{{ tools }}": {Flags: ggufx.ChatFeaturesTakesTools},
		calls: {Flags: ggufx.ChatFeaturesTakesTools | ggufx.ChatFeaturesCalls | ggufx.ChatFeaturesReasons,
			CallForm:      ggufx.ChatCallFormNamed,
			ReasoningOpen: "<think>", ReasoningClose: "</think>", CallPrefix: "[CALL]",
			CallMiddle: "[ID]ggufxid01[ARGS]", CallEnd: "[END]"},
		tags: {Flags: ggufx.ChatFeaturesCalls, CallForm: ggufx.ChatCallFormTagged, CallPrefix: `<call name="`,
			CallMiddle: `">`, CallEnd: "</call>", CallBeforeKey: `<p name="`,
			CallAfterKey: `" string="true">`, CallAfterKeyOther: `" string="false">`,
			CallAfterValue: "</p>"},
		"<|tool_call>call:": {Flags: ggufx.ChatFeaturesCalls, CallForm: ggufx.ChatCallFormNamed,
			CallNotation: ggufx.ChatNotationQuoted, CallPrefix: "<|tool_call>call:",
			CallEnd: "<tool_call|>", CallQuote: `<|"|>`},
		"<|start|><|channel|><|message|>": {Flags: ggufx.ChatFeaturesCalls | ggufx.ChatFeaturesReasons | ggufx.ChatFeaturesChannels},
	} {
		info := must[ggufx.ChatTemplateFacts](t)(newChat(t, rt, nil, ggufx.ChatTemplateOptions{Text: text}).Info())
		check(t, info == want, text, info)
	}
	closed := newChat(t, rt, nil, ggufx.ChatTemplateOptions{Text: calls})
	ok(t, closed.Close())
	_, err := closed.Info()
	fails(t, err, ggufx.StatusArgument)
	_, err = rt.NewChatParser(&ggufx.ChatParserOptions{Chat: closed})
	fails(t, err, ggufx.StatusArgument)
}

func TestAnOutputIsSplitIntoReasoningAnswerAndCalls(t *testing.T) {
	rt := newRuntime(t)
	said := `hm</think>Hi[CALL]f[ID]x7[ARGS]{"a":1}[END][CALL]g[ARGS]{}[END]`
	chat := newChat(t, rt, nil, ggufx.ChatTemplateOptions{Text: calls})
	parser := must[*ggufx.ChatParser](t)(rt.NewChatParser(
		&ggufx.ChatParserOptions{Chat: chat, Prompt: "...<think>\n", Tools: tools}))
	ok(t, chat.Close()) // the parser keeps the format
	info := must[ggufx.ChatParserFacts](t)(parser.Info())
	check(t, info == ggufx.ChatParserFacts{Flags: ggufx.ChatParserStateReasoning, ReasoningClose: "</think>"}, info)
	for i := range said {
		ok(t, parser.Feed(said[i:i+1]))
	}
	ok(t, parser.Finish())
	told := eventsOf(t, parser)
	check(t, reflect.DeepEqual(told, []event{{ggufx.EventKindReasoning, 0, "hm"},
		{ggufx.EventKindText, 0, "Hi"}, {ggufx.EventKindToolCall, 0, "f"}, {ggufx.EventKindToolID, 0, "x7"},
		{ggufx.EventKindToolArguments, 0, `{"a":1}`}, {ggufx.EventKindToolCall, 1, "g"},
		{ggufx.EventKindToolArguments, 1, "{}"}}), told)
	info = must[ggufx.ChatParserFacts](t)(parser.Info())
	check(t, info == ggufx.ChatParserFacts{Calls: 2}, info)
	fails(t, parser.Feed("x"), ggufx.StatusState)
	ok(t, parser.Close())
	_, err := parser.Info()
	fails(t, err, ggufx.StatusArgument)
}

func TestToolsNeedAKnownFormat(t *testing.T) {
	rt := newRuntime(t)
	written := `Hi[CALL]f[ARGS]{"a":1}[END]`
	answers := func(chat *ggufx.ChatTemplate, options ggufx.ChatParserOptions) {
		options.Chat = chat
		parser := must[*ggufx.ChatParser](t)(rt.NewChatParser(&options))
		ok(t, parser.Feed(written))
		told := eventsOf(t, parser)
		check(t, reflect.DeepEqual(told, []event{{ggufx.EventKindText, 0, written}}), told)
	}
	for _, chat := range []*ggufx.ChatTemplate{newChat(t, rt, nil, ggufx.ChatTemplateOptions{Text: "{{ tools }}"}), nil} {
		_, err := rt.NewChatParser(&ggufx.ChatParserOptions{Chat: chat, Tools: tools})
		fails(t, err, ggufx.StatusUnsupported)
		answers(chat, ggufx.ChatParserOptions{})
		answers(chat, ggufx.ChatParserOptions{Tools: tools, Flags: ggufx.ChatParserNoCalls})
	}
	known := newChat(t, rt, nil, ggufx.ChatTemplateOptions{Text: calls})
	answers(known, ggufx.ChatParserOptions{Flags: ggufx.ChatParserNoCalls})
	_, err := rt.NewChatParser(&ggufx.ChatParserOptions{Chat: known, Tools: "{"})
	fails(t, err, ggufx.StatusMalformed)
}
