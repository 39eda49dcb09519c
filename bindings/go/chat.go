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
	Name   string // of one of the file's: "tool_use"
	Format string // a built-in one: "chatml"
	// What the template finds as bos_token and eos_token; "": those of the file.
	BosToken, EosToken string
}

// ChatRequest is a conversation and what a template may know beside it, as JSON; "": not defined.
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

// joined puts texts one behind the other, with their lengths: C takes one address.
func joined(texts ...string) ([]byte, []C.size_t) {
	var all []byte
	lengths := make([]C.size_t, len(texts))
	for i, text := range texts {
		all, lengths[i] = append(all, text...), C.size_t(len(text))
	}
	return all, lengths
}

// ChatFormats gives the names of the built-in formats.
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

// Styles gives the marks that the template's text knows.
func (c *Chat) Styles() (ChatStyles, error) {
	p, err := c.enter()
	if err != nil {
		return 0, err
	}
	defer c.leave()
	return ChatStyles(C.ggufx_chat_styles(p)), nil
}

func (r *ChatRequest) texts() (*C.char, *C.size_t) {
	all, lengths := joined(r.Messages, r.Tools, r.Documents, r.Variables, r.ReasoningEffort)
	texts, _ := chars(all)
	return texts, &lengths[0]
}

// Render gives the text of a conversation, and whose each byte is.
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

// Tokenize gives the ids of a conversation, in which no text of a user is a control token. flags:
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

// ChatEvent is a piece of what a model says.
type ChatEvent struct {
	Kind int    // ChatAnswer, ChatReasoning, ChatCallName, ChatCallArguments
	Call uint64 // counts the calls of tools from 0
	Text string
}

// ChatParser tells a model's output apart as it comes; one call at a time.
type ChatParser struct {
	*handle
	told *[]ChatEvent
}

// NewChatParser makes a parser. prompt: what was rendered, or its end; tools: a JSON array or "".
// Errors: LIMIT, MALFORMED, MEMORY.
func (rt *Runtime) NewChatParser(styles ChatStyles, prompt, tools string) (*ChatParser, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	all, lengths := joined(prompt, tools)
	texts, _ := chars(all)
	told := new([]ChatEvent)
	user := cgo.NewHandle(told)
	var p *C.ggufx_chat_parser
	e := record()
	err = done(C.ggufx_go_chat_parser(&p, rtp, C.uint32_t(styles), texts, &lengths[0], C.uintptr_t(user),
		e), e)
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
	*told = append(*told, ChatEvent{int(kind), uint64(call), string(view(text, n))})
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

func (c *ChatParser) take() []ChatEvent {
	told := *c.told
	*c.told = nil
	return told
}

// Feed takes the next piece of the output, with special tokens written; what is told of it.
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

// Finish ends the output; what was held back.
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
