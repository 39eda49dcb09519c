// SPDX-License-Identifier: MIT

package ggufx

import (
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// handle holds an object of the library. Calls count themselves in and out: close ends it for new
// calls, and destroys it at once, or with the last call that still runs or object that needs it.
type handle struct {
	p       unsafe.Pointer
	state   atomic.Uint64 // calls that run, objects that need it, busy, closed
	destroy func(p unsafe.Pointer)
	owner   *handle      // that a borrowed object belongs to; else nil
	owned   string       // name of the owner for errors
	holds   []*handle    // that must outlive it
	with    *handle      // whose lock it shares; else nil
	kept    []*functions // of the program, which the object calls
}

const (
	oneCall = 1
	calls   = 1<<31 - 1
	oneHold = 1 << 31
	busy    = 1 << 62 // by a call that needs it alone
	closed  = 1 << 63
)

// use of an object by a call.
type use int

const (
	shared use = iota // beside others that are shared
	alone             // no other call
	beside            // also beside one that is alone
)

// newHandle takes an object, which is destroyed at the latest when its handle is unreachable.
func newHandle(p unsafe.Pointer, destroy func(p unsafe.Pointer)) *handle {
	h := &handle{p: p, destroy: destroy}
	runtime.SetFinalizer(h, (*handle).close)
	return h
}

// enter begins a call, which leave ends; what: name of the object for errors; held: it may be closed,
// because another object needs it.
func (h *handle) enter(what string, how use, held bool) error {
	for {
		n := h.state.Load()
		next := n + oneCall
		switch {
		case n&closed != 0 && !held:
			return &Error{Status: StatusArgument, Offset: None, Index: None,
				Message: "the " + what + " is closed", cause: os.ErrClosed}
		case how != beside && (n&busy != 0 || (how == alone && n&calls != 0)):
			return &Error{Status: StatusState, Offset: None, Index: None,
				Message: "another call is using the " + what}
		case how == alone:
			next |= busy
		}
		if h.state.CompareAndSwap(n, next) {
			return nil
		}
	}
}

func (h *handle) leave(how use) {
	if how == alone {
		h.drop(oneCall + busy)
	} else {
		h.drop(oneCall)
	}
}

// drop takes something out of the state; the last one destroys a closed object.
func (h *handle) drop(n uint64) {
	if h.state.Add(-n) == closed {
		h.free()
	}
}

func (h *handle) free() {
	h.destroy(h.p)
	for _, set := range h.kept {
		set.drop()
	}
	for _, other := range h.holds {
		other.drop(oneHold)
	}
}

func (h *handle) close() error {
	for h != nil && h.owner == nil {
		n := h.state.Load()
		if n&closed != 0 {
			break
		}
		if h.state.CompareAndSwap(n, n|closed) {
			runtime.SetFinalizer(h, nil)
			if n == 0 {
				h.free()
			}
			break
		}
	}
	return nil
}
