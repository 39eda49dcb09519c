// SPDX-License-Identifier: MIT

package ggufx

import (
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// handle holds one object of the library's. Calls count themselves in and out: close ends it for new
// calls, and destroys it at once or with the last call that still runs.
type handle struct {
	p       unsafe.Pointer
	state   atomic.Uint64 // calls that run, and closed
	destroy func(p unsafe.Pointer)
}

const closed = 1 << 63

// hold takes an object, which is destroyed at the latest when its handle is unreachable.
func hold(p unsafe.Pointer, destroy func(p unsafe.Pointer)) *handle {
	h := &handle{p: p, destroy: destroy}
	runtime.SetFinalizer(h, (*handle).close)
	return h
}

// enter begins a call, which leave ends; what: the object's name, for the error of a closed one.
func (h *handle) enter(what string) (unsafe.Pointer, error) {
	if h == nil {
		return nil, argument("the %s is nil", what)
	}
	for {
		n := h.state.Load()
		if n&closed != 0 {
			return nil, &Error{Status: StatusArgument, Offset: None, Index: None,
				Message: "the " + what + " is closed", cause: os.ErrClosed}
		}
		if h.state.CompareAndSwap(n, n+1) {
			return h.p, nil
		}
	}
}

func (h *handle) leave() {
	if h.state.Add(^uint64(0)) == closed {
		h.destroy(h.p)
	}
}

func (h *handle) close() error {
	for h != nil {
		n := h.state.Load()
		if n&closed != 0 {
			break
		}
		if h.state.CompareAndSwap(n, n|closed) {
			runtime.SetFinalizer(h, nil)
			if n == 0 {
				h.destroy(h.p)
			}
			break
		}
	}
	return nil
}
