// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"errors"
	"runtime/cgo"
	"unsafe"
)

// Chat is a compiled template, immutable.
type Chat struct{ *handle }

// ChatOptions of NewChat; nothing set is the template of the file.
type ChatOptions struct {
	Text   string // a template
	Name   string // name of a template in the file: "tool_use"
	Format string // a built-in one: "chatml"
	// Values of bos_token and eos_token in the template; "": those of the file.
	BosToken, EosToken string
}

// ChatRequest is a conversation with template variables, as JSON; "": not defined.
type ChatRequest struct {
	Messages        string // array: [{"role": "user", "content": "Hi"}]
	Tools           string // array of functions
	Documents       string // array
	Variables       string // object: any others
	ReasoningEffort string // low, medium, high; a text
	Flags           ChatFlags
	Clock           int64 // with ChatClock: seconds since 1970 in the time of day to be shown
}

// ChatRun is a run of bytes that one side wrote: from the end of the run before up to End.
type ChatRun struct {
	End  uint64
	User bool // from messages, tools or variables
}

// joined concatenates strings and returns their lengths: C takes one address.
func joined(texts ...string) ([]byte, []C.size_t) {
	var all []byte
	lengths := make([]C.size_t, len(texts))
	for i, text := range texts {
		all, lengths[i] = append(all, text...), C.size_t(len(text))
	}
	return all, lengths
}

// ChatFormats returns the names of the built-in formats.
func ChatFormats() []string {
	var names []string
	for {
		name := C.ggufx_chat_format_name(C.size_t(len(names)))
		if name == nil {
			return names
		}
		names = append(names, C.GoString(name))
	}
}

// NewChat compiles a template; f may be nil where it is not needed. Errors: ARGUMENT, LIMIT,
// MALFORMED, UNSUPPORTED, NOT_FOUND.
func (rt *Runtime) NewChat(f *File, options ChatOptions) (*Chat, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	var fp *C.ggufx_file
	if f != nil {
		fp, err = f.enter()
		if err != nil {
			return nil, err
		}
		defer f.leave()
	}
	o := options
	all, lengths := joined(o.Text, o.Name, o.Format, o.BosToken, o.EosToken)
	texts, _ := chars(all)
	var p *C.ggufx_chat
	e := record()
	err = done(C.ggufx_go_chat(&p, rtp, fp, texts, &lengths[0], e), e)
	if err != nil {
		return nil, err
	}
	return &Chat{hold(unsafe.Pointer(p), destroyChat)}, nil
}

// Close drops the template.
func (c *Chat) Close() error {
	if c == nil {
		return nil
	}
	return c.close()
}

func (c *Chat) enter() (*C.ggufx_chat, error) {
	if c == nil {
		return nil, argument("no chat")
	}
	p, err := c.handle.enter("chat")
	return (*C.ggufx_chat)(p), err
}

func destroyChat(p unsafe.Pointer) { C.ggufx_chat_destroy((*C.ggufx_chat)(p)) }

// ChatInfo describes how the models of a template write reasoning and tool calls; see ggufx_chat_facts.
type ChatInfo struct {
	TakesTools        bool // the template reads the tools of a request
	Calls             bool // tool calls that its models write are recognized
	Reasons           bool // so is reasoning
	Channels          bool // end-of-generation tokens separate the channels of an answer
	CallForm          ChatCallForm
	CallNotation      ChatNotation
	ReasoningOpen     string // the first pair of markers, or empty
	ReasoningClose    string
	CallPrefix        string // before the name; "ggufxid01" is a placeholder for the call id
	CallMiddle        string
	CallEnd           string
	CallBeforeKey     string
	CallAfterKey      string
	CallAfterKeyOther string // before a value that is no string; empty: as CallAfterKey
	CallAfterValue    string
	CallQuote         string
}

// Info describes the template.
func (c *Chat) Info() (ChatInfo, error) {
	p, err := c.enter()
	if err != nil {
		return ChatInfo{}, err
	}
	defer c.leave()
	out, e := C.ggufx_chat_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_chat_info(&out, p, e), e)
	if err != nil {
		return ChatInfo{}, err
	}
	return ChatInfo{
		TakesTools:        out.flags&C.GGUFX_CHAT_TAKES_TOOLS != 0,
		Calls:             out.flags&C.GGUFX_CHAT_CALLS != 0,
		Reasons:           out.flags&C.GGUFX_CHAT_REASONS != 0,
		Channels:          out.flags&C.GGUFX_CHAT_CHANNELS != 0,
		CallForm:          ChatCallForm(out.call_form),
		CallNotation:      ChatNotation(out.call_notation),
		ReasoningOpen:     C.GoString(out.reasoning_open),
		ReasoningClose:    C.GoString(out.reasoning_close),
		CallPrefix:        C.GoString(out.call_prefix),
		CallMiddle:        C.GoString(out.call_middle),
		CallEnd:           C.GoString(out.call_end),
		CallBeforeKey:     C.GoString(out.call_before_key),
		CallAfterKey:      C.GoString(out.call_after_key),
		CallAfterKeyOther: C.GoString(out.call_after_key_other),
		CallAfterValue:    C.GoString(out.call_after_value),
		CallQuote:         C.GoString(out.call_quote),
	}, nil
}

func (r *ChatRequest) texts() (*C.char, *C.size_t) {
	all, lengths := joined(r.Messages, r.Tools, r.Documents, r.Variables, r.ReasoningEffort)
	texts, _ := chars(all)
	return texts, &lengths[0]
}

// Render returns the rendered text of a conversation, and the source of each byte.
func (c *Chat) Render(r ChatRequest) (string, []ChatRun, error) {
	p, err := c.enter()
	if err != nil {
		return "", nil, err
	}
	defer c.leave()
	texts, lengths := r.texts()
	out, runs := make([]byte, 4096), make([]C.ggufx_chat_run, 64)
	for {
		var needed, n C.size_t
		e := record()
		err := done(C.ggufx_go_chat_render((*C.char)(octets(out)), C.size_t(len(out)), &needed, &runs[0],
			C.size_t(len(runs)), &n, p, texts, lengths, C.uint32_t(r.Flags), C.int64_t(r.Clock), e), e)
		if err == nil {
			said := make([]ChatRun, n)
			for i := range said {
				said[i] = ChatRun{uint64(runs[i].end), runs[i].user != 0}
			}
			return string(out[:needed]), said, nil
		}
		if !errors.Is(err, StatusCapacity) {
			return "", nil, err
		}
		out, runs = make([]byte, needed), make([]C.ggufx_chat_run, n+1)
	}
}

// Tokenize returns the token ids of a conversation; user text never becomes a control token. flags:
// TokenizeAddSpecial.
func (c *Chat) Tokenize(t *Tokenizer, r ChatRequest, flags TokenizeFlags) ([]int32, error) {
	p, err := c.enter()
	if err != nil {
		return nil, err
	}
	defer c.leave()
	tp, err := t.enter()
	if err != nil {
		return nil, err
	}
	defer t.leave()
	texts, lengths := r.texts()
	ids := make([]int32, len(r.Messages)+256)
	for {
		var needed C.size_t
		e := record()
		err := done(C.ggufx_go_chat_tokenize(ints(ids), C.size_t(len(ids)), &needed, p, tp, texts, lengths,
			C.uint32_t(r.Flags), C.int64_t(r.Clock), C.uint32_t(flags), e), e)
		if err == nil {
			return ids[:needed], nil
		}
		if !errors.Is(err, StatusCapacity) {
			return nil, err
		}
		ids = make([]int32, needed)
	}
}

// ChatEvent is one event of the output parser.
type ChatEvent struct {
	Kind ChatEventKind // a ChatEventKind
	Call uint64        // number of the tool call, from 0
	Text string
}

// ChatParserOptions of NewChatParser.
type ChatParserOptions struct {
	Prompt  string // as rendered, or its end: it may have opened reasoning or a call
	Tools   string // JSON array of the request's tools, whose schemas give types; "": none
	NoCalls bool   // tool calls are text of the answer
}

// ChatParserInfo describes the position of a parser in the output.
type ChatParserInfo struct {
	Reasoning      bool   // the output is within reasoning
	Calls          uint64 // tool calls so far
	ReasoningClose string // marker that ends that reasoning, or empty
}

// ChatParser splits a model's output as it comes into answer, reasoning and tool calls; one call at a
// time.
type ChatParser struct {
	*handle
	told *[]ChatEvent
}

// NewChatParser makes a parser for the format of a template, which may be closed before it; nil: all
// output is answer. Errors: LIMIT, MALFORMED, MEMORY, UNSUPPORTED (tools are given, and how the
// template's models write calls is not known).
func (rt *Runtime) NewChatParser(c *Chat, options ChatParserOptions) (*ChatParser, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	var cp *C.ggufx_chat
	if c != nil {
		cp, err = c.enter()
		if err != nil {
			return nil, err
		}
		defer c.leave()
	}
	flags := C.uint32_t(0)
	if options.NoCalls {
		flags = C.GGUFX_CHAT_PARSER_NO_CALLS
	}
	all, lengths := joined(options.Prompt, options.Tools)
	texts, _ := chars(all)
	told := new([]ChatEvent)
	user := cgo.NewHandle(told)
	var p *C.ggufx_chat_parser
	e := record()
	err = done(C.ggufx_go_chat_parser(&p, rtp, cp, flags, texts, &lengths[0], C.uintptr_t(user), e), e)
	if err != nil {
		user.Delete()
		return nil, err
	}
	return &ChatParser{hold(unsafe.Pointer(p), func(p unsafe.Pointer) {
		C.ggufx_chat_parser_destroy((*C.ggufx_chat_parser)(p))
		user.Delete()
	}), told}, nil
}

//export ggufxGoChatEvent
func ggufxGoChatEvent(user C.uintptr_t, kind C.uint32_t, call C.uint64_t, text *C.char, n C.size_t) {
	told := cgo.Handle(user).Value().(*[]ChatEvent)
	*told = append(*told, ChatEvent{ChatEventKind(kind), uint64(call), string(view(text, n))})
}

// Close frees the parser.
func (c *ChatParser) Close() error {
	if c == nil {
		return nil
	}
	return c.close()
}

func (c *ChatParser) enter() (*C.ggufx_chat_parser, error) {
	if c == nil {
		return nil, argument("no parser")
	}
	p, err := c.handle.enter("parser")
	return (*C.ggufx_chat_parser)(p), err
}

// Info describes the position in the output.
func (c *ChatParser) Info() (ChatParserInfo, error) {
	p, err := c.enter()
	if err != nil {
		return ChatParserInfo{}, err
	}
	defer c.leave()
	out, e := C.ggufx_chat_parser_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_chat_parser_info(&out, p, e), e)
	if err != nil {
		return ChatParserInfo{}, err
	}
	return ChatParserInfo{out.flags&C.GGUFX_CHAT_PARSER_REASONING != 0, uint64(out.n_calls),
		C.GoString(out.reasoning_close)}, nil
}

func (c *ChatParser) take() []ChatEvent {
	told := *c.told
	*c.told = nil
	return told
}

// Feed parses more output, with special tokens as text, and returns its events.
func (c *ChatParser) Feed(text string) ([]ChatEvent, error) {
	p, err := c.enter()
	if err != nil {
		return nil, err
	}
	defer c.leave()
	from, n := chars([]byte(text))
	e := record()
	err = done(C.ggufx_chat_parser_feed(p, from, n, e), e)
	if err != nil {
		return nil, err
	}
	return c.take(), nil
}

// Finish ends the output and returns the events of withheld text.
func (c *ChatParser) Finish() ([]ChatEvent, error) {
	p, err := c.enter()
	if err != nil {
		return nil, err
	}
	defer c.leave()
	e := record()
	err = done(C.ggufx_chat_parser_finish(p, e), e)
	if err != nil {
		return nil, err
	}
	return c.take(), nil
}
