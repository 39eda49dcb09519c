// SPDX-License-Identifier: MIT

package ggufx

import (
	"context"
	"errors"
)

// Stream iterates over the events of an output, as bufio.Scanner does over lines:
//
//	for s.Next(ctx) {
//		fmt.Print(s.Event().Text)
//	}
//	err := s.Err()
type Stream struct {
	*Generator
	event Event
	err   error
}

// Stream sets a prompt; its error is that of Err, too.
func (g *Generator) Stream(prompt *Prompt) (*Stream, error) {
	err := g.SetPrompt(prompt)
	return &Stream{Generator: g, err: err}, err
}

// Generate is the Stream of a new generator on a new session, which its Close frees; options may be nil.
func (m *Model) Generate(prompt string, options *GeneratorOptions) (*Stream, error) {
	session, err := m.NewSession(nil)
	if err != nil {
		return nil, err
	}
	defer session.Close() // the generator keeps it
	g, err := session.NewGenerator(options)
	if err != nil {
		return nil, err
	}
	return g.Stream(&Prompt{Text: prompt})
}

// Next computes the next event; false after that of the end, or an error. A context that is done
// ends the call and cancels the generator.
func (s *Stream) Next(ctx context.Context) bool {
	if s.err != nil || s.event.Kind == EventKindEnd {
		return false
	}
	s.event, s.err = s.Generator.Next(&StepOptions{Watch: Watch{Context: ctx}})
	if errors.Is(s.err, StatusCancelled) {
		s.Cancel()
	} else if s.event.End == EndError {
		s.err = &Error{Status: s.event.Status, Offset: None, Index: None, Message: s.event.Text}
	}
	return s.err == nil
}

// Event returns the last event.
func (s *Stream) Event() Event { return s.event }

// Err returns the first error; nil if the output has ended well.
func (s *Stream) Err() error { return s.err }

// Must returns a value and panics with an error, as template.Must does: for short programs.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
