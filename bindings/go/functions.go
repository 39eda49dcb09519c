// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import (
	"context"
	"errors"
	"io"
	"runtime/cgo"
	"sync"
	"sync/atomic"
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

// functions are those of a program that a call, or an object, calls.
type functions struct {
	list     []any
	handle   cgo.Handle
	memory   []unsafe.Pointer // arguments for C, which name a function
	users    atomic.Int32
	mutex    sync.Mutex // of the rest: clones of a sampler share functions
	cause    error      // why a function ended the call
	panicked any
}

func newFunctions() *functions {
	set := new(functions)
	set.handle = cgo.NewHandle(set)
	set.users.Store(1)
	return set
}

func (set *functions) drop() {
	if set.users.Add(-1) == 0 {
		set.handle.Delete()
		for _, p := range set.memory {
			C.free(p)
		}
	}
}

// add returns the argument with which C calls a function.
func (set *functions) add(f any) unsafe.Pointer {
	user := (*C.ggufx_go_user)(C.malloc(C.sizeof_ggufx_go_user)) // never nil
	user.set, user.number = C.uintptr_t(set.handle), C.size_t(len(set.list))
	set.list = append(set.list, f)
	set.memory = append(set.memory, unsafe.Pointer(user))
	return unsafe.Pointer(user)
}

func functionOf[F any](user unsafe.Pointer) (F, *functions) {
	at := (*C.ggufx_go_user)(user)
	set := cgo.Handle(at.set).Value().(*functions)
	return set.list[at.number].(F), set
}

// guard runs a function; a panic ends the call and is resumed after it. moves: the function reads or
// writes bytes.
func (set *functions) guard(moves bool, run func() error) (status Status) {
	set.mutex.Lock()
	ended := set.panicked != nil
	set.mutex.Unlock()
	if ended {
		return StatusCancelled
	}
	defer func() {
		if p := recover(); p != nil {
			set.mutex.Lock()
			set.panicked, status = p, StatusCancelled
			set.mutex.Unlock()
		}
	}()
	err := run()
	if err == nil {
		return StatusOk
	}
	set.mutex.Lock()
	set.cause = err
	set.mutex.Unlock()
	var e *Error
	switch {
	case errors.As(err, &e):
		status = e.Status
	case errors.As(err, &status) && status != StatusOk:
	case moves && (err == io.EOF || err == io.ErrUnexpectedEOF):
		status = StatusTruncated
	case moves:
		status = StatusIO
	default:
		status = StatusCancelled
	}
	return status
}

// settle ends a call: a panic goes on, and the error of a function is the cause of the call's.
func (set *functions) settle(err error) {
	if set == nil {
		return
	}
	set.mutex.Lock()
	panicked, cause := set.panicked, set.cause
	set.panicked, set.cause = nil, nil
	set.mutex.Unlock()
	if panicked != nil {
		panic(panicked)
	}
	if e, ok := err.(*Error); ok && cause != nil {
		e.cause = cause
	}
}

func (run *running) callback(f any, by unsafe.Pointer) (*[0]byte, unsafe.Pointer) {
	if run.functions == nil {
		run.functions = newFunctions()
	}
	return (*[0]byte)(by), run.functions.add(f)
}

// keep is callback for a function that an object calls later, too.
func (run *running) keep(f any, by unsafe.Pointer) (*[0]byte, unsafe.Pointer) {
	if run.kept == nil {
		run.kept = newFunctions()
	}
	return (*[0]byte)(by), run.kept.add(f)
}

func (run *running) watch(w *Watch) *C.ggufx_progress {
	if w == nil || w.unset() {
		return nil
	}
	to := alloc[C.ggufx_progress](run, 1)
	to.report, to.user = run.callback(*w, C.ggufxGoProgress)
	return to
}

//export ggufxGoProgress
func ggufxGoProgress(user unsafe.Pointer, done, total C.uint64_t) C.ggufx_status {
	w, set := functionOf[Watch](user)
	return C.ggufx_status(set.guard(false, func() error {
		if w.Progress != nil {
			w.Progress(uint64(done), uint64(total))
		}
		if w.Context != nil {
			return w.Context.Err()
		}
		return nil
	}))
}
