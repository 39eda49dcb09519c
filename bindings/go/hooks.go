// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Executor runs the library's tasks where the program wants.
type Executor interface {
	MaxWorkers() int // at least 1
	// ParallelFor calls task for each index below n, in any order, on any goroutines, and returns
	// when all have run; worker is below MaxWorkers, and no two tasks run at once with one worker.
	ParallelFor(n int, task func(index, worker int))
}

// Allocator returns C memory, never Go memory.
type Allocator interface {
	Alloc(size, align uintptr) unsafe.Pointer // nil when there is none
	Free(memory unsafe.Pointer, size, align uintptr)
}

type logSink func(level LogLevel, text string)

//export ggufxGoLog
func ggufxGoLog(user C.uintptr_t, level C.int32_t, text *C.char, length C.size_t) {
	defer func() { _ = recover() }() // a message is not worth the process
	cgo.Handle(user).Value().(logSink)(LogLevel(level), string(view(text, length)))
}

//export ggufxGoAlloc
func ggufxGoAlloc(user C.uintptr_t, size, align C.size_t) (memory unsafe.Pointer) {
	defer func() {
		if recover() != nil {
			memory = nil
		}
	}()
	return cgo.Handle(user).Value().(Allocator).Alloc(uintptr(size), uintptr(align))
}

//export ggufxGoFree
func ggufxGoFree(user C.uintptr_t, memory unsafe.Pointer, size, align C.size_t) {
	defer func() { _ = recover() }()
	cgo.Handle(user).Value().(Allocator).Free(memory, uintptr(size), uintptr(align))
}

//export ggufxGoParallelFor
func ggufxGoParallelFor(user C.uintptr_t, n C.uint32_t, task, ctx unsafe.Pointer) (status C.int32_t) {
	defer func() {
		if recover() != nil {
			status = C.GGUFX_E_INTERNAL
		}
	}()
	cgo.Handle(user).Value().(Executor).ParallelFor(int(n), func(index, worker int) {
		C.ggufx_go_run(task, ctx, C.uint32_t(index), C.uint32_t(worker))
	})
	return C.GGUFX_OK
}
