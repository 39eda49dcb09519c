// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"context"
	"io"
	"runtime/cgo"
	"unsafe"
)

// Watch follows a long call. All unset: nothing is called.
type Watch struct {
	Context  context.Context          // ends the call when it is done
	Progress func(done, total uint64) // total 0: unknown; runs on the calling goroutine's thread
}

func (w *Watch) unset() bool {
	return w.Progress == nil && (w.Context == nil || w.Context.Done() == nil)
}

// callbacks are the functions of one call, or of a hook that stays.
type callbacks struct {
	watch      Watch
	finding    func(*Finding) bool
	chunk      func(*Perplexity) bool
	measure    func(*Measure) bool
	attention  func(*AttentionView) bool
	layers     []layerWidths
	write      func(part int, data []byte) error
	read       func(offset uint64, data []byte) error
	size       uint64
	tensorDone func(i int, t PlannedTensor)
	release    func()
	cause      error // why a function ended the call
	panicked   any
}

// run passes the callbacks to a call, and returns their errors.
func (c *callbacks) run(call func(user C.uintptr_t) error) error {
	handle := cgo.NewHandle(c)
	defer handle.Delete()
	err := call(C.uintptr_t(handle))
	if c.panicked != nil {
		panic(c.panicked)
	}
	if e, ok := err.(*Error); ok && c.cause != nil {
		e.cause = c.cause
	}
	return err
}

// watched runs a call that can be followed; without a watch it allocates nothing.
func watched(w *Watch, call func(user C.uintptr_t) error) error {
	if w == nil || w.unset() {
		return call(0)
	}
	c := callbacks{watch: *w}
	return c.run(call)
}

func of(user C.uintptr_t) *callbacks { return cgo.Handle(user).Value().(*callbacks) }

// guard runs a callback; a panic ends the call and is resumed after it.
func (c *callbacks) guard(run func() error) (ok bool) {
	if c.panicked != nil {
		return false
	}
	defer func() {
		if p := recover(); p != nil {
			c.panicked = p
			ok = false
		}
	}()
	if err := run(); err != nil {
		c.cause = err
		return false
	}
	return true
}

func stopUnless(ok bool) C.int32_t {
	if ok {
		return 0
	}
	return 1
}

func ioUnless(ok bool) C.int32_t {
	if ok {
		return C.GGUFX_OK
	}
	return C.GGUFX_E_IO
}

//export ggufxGoProgress
func ggufxGoProgress(user C.uintptr_t, done, total C.uint64_t) C.int32_t {
	c := of(user)
	return stopUnless(c.guard(func() error {
		if c.watch.Progress != nil {
			c.watch.Progress(uint64(done), uint64(total))
		}
		if c.watch.Context != nil {
			return c.watch.Context.Err()
		}
		return nil
	}))
}

func keepGoing(goOn bool) error {
	if goOn {
		return nil
	}
	return StatusCancelled
}

//export ggufxGoFinding
func ggufxGoFinding(user C.uintptr_t, f *C.ggufx_finding) C.int32_t {
	c := of(user)
	return stopUnless(c.guard(func() error {
		return keepGoing(c.finding(&Finding{
			Severity: LogLevel(f.severity),
			Status:   Status(f.status),
			Offset:   uint64(f.offset),
			Index:    uint64(f.index),
			Text:     C.GoString(f.text),
			Name:     string(view(f.name, f.name_length)),
		}))
	}))
}

//export ggufxGoChunk
func ggufxGoChunk(user C.uintptr_t, running *C.ggufx_perplexity_facts) C.int32_t {
	c := of(user)
	return stopUnless(c.guard(func() error { return keepGoing(c.chunk(perplexityOf(running))) }))
}

//export ggufxGoMeasure
func ggufxGoMeasure(user C.uintptr_t, running *C.ggufx_measure_facts) C.int32_t {
	c := of(user)
	return stopUnless(c.guard(func() error { return keepGoing(c.measure(measureOf(running))) }))
}

//export ggufxGoLayer
func ggufxGoLayer(user C.uintptr_t, layer C.uint32_t, first C.uint64_t, n C.size_t,
	q, k, v, out *C.float) C.int32_t {
	c := of(user)
	w := c.layers[layer]
	floats := func(p *C.float, width int) []float32 {
		if width == 0 {
			return nil
		}
		return unsafe.Slice((*float32)(unsafe.Pointer(p)), int(n)*width)
	}
	return stopUnless(c.guard(func() error {
		return keepGoing(c.attention(&AttentionView{
			Layer: uint32(layer), FirstToken: uint64(first), Tokens: int(n),
			Q: floats(q, w.q), K: floats(k, w.k), V: floats(v, w.v), Out: floats(out, w.out),
		}))
	}))
}

//export ggufxGoWrite
func ggufxGoWrite(user C.uintptr_t, part C.uint32_t, data unsafe.Pointer, n C.size_t) C.int32_t {
	c := of(user)
	return ioUnless(c.guard(func() error {
		return c.write(int(part), unsafe.Slice((*byte)(data), int(n)))
	}))
}

//export ggufxGoRead
func ggufxGoRead(user C.uintptr_t, offset C.uint64_t, data unsafe.Pointer, n C.size_t) C.int32_t {
	c := of(user)
	ok := c.guard(func() error {
		return c.read(uint64(offset), unsafe.Slice((*byte)(data), int(n)))
	})
	if c.cause == io.EOF || c.cause == io.ErrUnexpectedEOF {
		return C.GGUFX_E_TRUNCATED
	}
	return ioUnless(ok)
}

//export ggufxGoSize
func ggufxGoSize(user C.uintptr_t, out *C.uint64_t) C.int32_t {
	*out = C.uint64_t(of(user).size)
	return C.GGUFX_OK
}

//export ggufxGoDestroy
func ggufxGoDestroy(user C.uintptr_t) {
	handle := cgo.Handle(user)
	if c, ok := handle.Value().(*callbacks); ok && c.release != nil {
		c.guard(func() error { c.release(); return nil })
	}
	handle.Delete()
}
