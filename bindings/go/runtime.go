// Package ggufx opens GGUF files, multiplies by their quantized weights, keeps KV caches and runs
// language models with libggufx.
//
// Names and contracts are those of the C headers: ggufx_kv_append is KV.Append. Every object has a
// Close that may be called again, in any order and while other goroutines call the object: it never
// waits. Calls that run end with their result, and the last one frees the object; calls that come
// later fail with an error that errors.Is finds to be os.ErrClosed. A finalizer calls Close if the
// program does not. Otherwise a method may be called by several goroutines at once where the C
// function takes a const object; sessions, samplers, writers and changes of a cache need one at a
// time. Slices are used in place.
//
// SPDX-License-Identifier: MIT
package ggufx

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Runtime holds the hooks and the chosen kernels; objects made from it keep it alive.
type Runtime struct{ *handle }

// RuntimeOptions of NewRuntime; all unset is the default.
type RuntimeOptions struct {
	Threads        int // number of threads, including the caller; 0: one per usable processor
	ISA            ISA // can only exclude detected instruction sets
	WorkspaceBytes uint64
	Log            func(level LogLevel, text string) // may be called on any thread
	Executor       Executor
	Allocator      Allocator
}

func handleUnless(absent bool, value any) C.uintptr_t {
	if absent {
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(value))
}

// NewRuntime creates a runtime; options may be nil. Errors: ARGUMENT, MEMORY, UNSUPPORTED; VERSION
// when the library does not fit this package.
func NewRuntime(options *RuntimeOptions) (*Runtime, error) {
	if err := checkLibrary(); err != nil {
		return nil, err
	}
	var o RuntimeOptions
	if options != nil {
		o = *options
	}
	workers := 0
	if o.Executor != nil {
		workers = o.Executor.MaxWorkers()
	}
	var r *C.ggufx_runtime
	e := record()
	log := handleUnless(o.Log == nil, logSink(o.Log))
	jobs := handleUnless(o.Executor == nil, o.Executor)
	memory := handleUnless(o.Allocator == nil, o.Allocator)
	status := C.ggufx_go_runtime(&r, C.uint32_t(o.Threads), C.int32_t(o.ISA),
		C.uint64_t(o.WorkspaceBytes), log, jobs, C.uint32_t(workers), memory, e)
	if err := done(status, e); err != nil {
		return nil, err
	}
	return &Runtime{hold(unsafe.Pointer(r), destroyRuntime)}, nil
}

func checkLibrary() error {
	name := C.CString("ggufx_error")
	defer C.free(unsafe.Pointer(name))
	abi, size := uint32(C.ggufx_abi_version()), uintptr(C.ggufx_abi_layout(name))
	if abi != ABIVersion || size != unsafe.Sizeof(C.ggufx_error{}) {
		err := argument("the library has ABI %d and errors of %d bytes, not %d", abi, size, ABIVersion)
		err.(*Error).Status = StatusVersion
		return err
	}
	return nil
}

// Close drops the runtime; objects made from it stay usable.
func (r *Runtime) Close() error {
	if r == nil {
		return nil
	}
	return r.close()
}

func (r *Runtime) enter() (*C.ggufx_runtime, error) {
	if r == nil {
		return nil, argument("no runtime")
	}
	p, err := r.handle.enter("runtime")
	return (*C.ggufx_runtime)(p), err
}

func destroyRuntime(p unsafe.Pointer) { C.ggufx_runtime_destroy((*C.ggufx_runtime)(p)) }

// RuntimeInfo describes a runtime.
type RuntimeInfo struct {
	ISA            ISA
	ISAName        string
	Threads        int
	Features       CPUFeatures
	AllocatorName  string
	WorkspaceBytes uint64
}

// Info describes the runtime.
func (r *Runtime) Info() (RuntimeInfo, error) {
	p, err := r.enter()
	if err != nil {
		return RuntimeInfo{}, err
	}
	defer r.leave()
	out, e := C.ggufx_runtime_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	if err := done(C.ggufx_runtime_info(&out, p, e), e); err != nil {
		return RuntimeInfo{}, err
	}
	return RuntimeInfo{ISA(out.isa), C.GoString(out.isa_name), int(out.threads),
		CPUFeatures(out.features), C.GoString(out.allocator_name), uint64(out.workspace_bytes)}, nil
}

// KernelName names the instruction set that serves a tensor type; "" for an unknown type.
func (r *Runtime) KernelName(t TensorType) string {
	p, err := r.enter()
	if err != nil {
		return ""
	}
	defer r.leave()
	return C.GoString(C.ggufx_runtime_kernel_name(p, C.uint32_t(t)))
}

// Version of the library, "0.1.0".
func Version() string { return C.GoString(C.ggufx_version()) }

// Has reports whether the library has a feature: "type:q4_K", "kv:f16", "isa:avx2", "arch:llama".
func Has(feature string) bool {
	text := C.CString(feature)
	defer C.free(unsafe.Pointer(text))
	return C.ggufx_has(text) != 0
}
