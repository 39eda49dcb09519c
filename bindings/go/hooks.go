// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import "unsafe"

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

// LogFunction gets the messages of a runtime, on any thread.
type LogFunction func(level LogLevel, text string)

// hook is a set of one function, which the library destroys also after a failure.
func hook(f any) (unsafe.Pointer, *functions) {
	set := newFunctions()
	return set.add(f), set
}

//export ggufxGoDestroy
func ggufxGoDestroy(user unsafe.Pointer) {
	f, set := functionOf[any](user)
	defer set.drop()
	if release, ok := f.(func()); ok {
		set.guard(false, func() error { release(); return nil })
	}
}

func (run *running) logFunction(f LogFunction) *C.ggufx_log {
	if f == nil {
		return nil
	}
	to := alloc[C.ggufx_log](run, 1)
	to.struct_size = C.sizeof_ggufx_log
	to.user, _ = hook(f)
	to.write, to.destroy = (*[0]byte)(C.ggufxGoLog), (*[0]byte)(C.ggufxGoDestroy)
	return to
}

func (run *running) executor(f Executor) *C.ggufx_executor {
	if f == nil {
		return nil
	}
	to := alloc[C.ggufx_executor](run, 1)
	to.struct_size = C.sizeof_ggufx_executor
	to.max_workers = C.uint32_t(f.MaxWorkers())
	to.user, _ = hook(f)
	to.parallel_for, to.destroy = (*[0]byte)(C.ggufxGoParallelFor), (*[0]byte)(C.ggufxGoDestroy)
	return to
}

func (run *running) allocator(f Allocator) *C.ggufx_allocator {
	if f == nil {
		return nil
	}
	to := alloc[C.ggufx_allocator](run, 1)
	to.struct_size = C.sizeof_ggufx_allocator
	to.user, _ = hook(f)
	to.alloc, to.free = (*[0]byte)(C.ggufxGoAlloc), (*[0]byte)(C.ggufxGoFree)
	to.destroy = (*[0]byte)(C.ggufxGoDestroy)
	return to
}

//export ggufxGoLog
func ggufxGoLog(user unsafe.Pointer, level C.int32_t, text *C.char, length C.size_t) {
	defer func() { _ = recover() }() // a message is not worth the process
	f, _ := functionOf[LogFunction](user)
	f(LogLevel(level), string(view(text, length)))
}

//export ggufxGoAlloc
func ggufxGoAlloc(user unsafe.Pointer, size, align C.size_t) (memory unsafe.Pointer) {
	defer func() {
		if recover() != nil {
			memory = nil
		}
	}()
	f, _ := functionOf[Allocator](user)
	return f.Alloc(uintptr(size), uintptr(align))
}

//export ggufxGoFree
func ggufxGoFree(user unsafe.Pointer, memory unsafe.Pointer, size, align C.size_t) {
	defer func() { _ = recover() }()
	f, _ := functionOf[Allocator](user)
	f.Free(memory, uintptr(size), uintptr(align))
}

//export ggufxGoParallelFor
func ggufxGoParallelFor(user unsafe.Pointer, n C.uint32_t, task, ctx unsafe.Pointer) (status C.int32_t) {
	defer func() {
		if recover() != nil {
			status = C.GGUFX_E_INTERNAL
		}
	}()
	f, _ := functionOf[Executor](user)
	f.ParallelFor(int(n), func(index, worker int) {
		C.ggufx_go_run(task, ctx, C.uint32_t(index), C.uint32_t(worker))
	})
	return C.GGUFX_OK
}
