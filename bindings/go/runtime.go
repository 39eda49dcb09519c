// Package ggufx opens GGUF files, multiplies by their quantized weights, keeps KV caches and runs
// language models with libggufx.
//
// Names and contracts are those of the C headers: ggufx_kv_append is KVCache.Append. An object is
// made by a method of the one that it is made from: Model.NewSession. Every object has a Close that
// may be called again, in any order and while other goroutines call the object: it never waits.
// Calls that run end with their result, and the last one frees the object; calls that come later
// fail with an error that errors.Is finds to be os.ErrClosed. A finalizer calls Close if the program
// does not. A method may be called by several goroutines at once where the C function takes a const
// object. Sessions, samplers, writers and changes of a cache need one call at a time: another one
// fails with StatusState. A method without an error returns 0 then. Slices are used in place.
//
// SPDX-License-Identifier: MIT
package ggufx

// #include "hooks.h"
import "C"

import "unsafe"

// NewRuntime creates a runtime; options may be nil. It fails with StatusVersion if the library does
// not fit this package.
//
// Errors: StatusArgument, StatusMemory, StatusUnsupported, StatusVersion.
func NewRuntime(options *RuntimeOptions) (*Runtime, error) {
	if err := checkLibrary(); err != nil {
		return nil, err
	}
	run := begin()
	defer run.end()
	cOptions := one[C.ggufx_runtime_options](run, options)
	made := slot[*C.ggufx_runtime](run)
	if err := run.done(C.ggufx_runtime_create(made, cOptions, run.e)); err != nil {
		return nil, err
	}
	return &Runtime{run.hold(unsafe.Pointer(*made), destroyRuntime, nil)}, nil
}

func checkLibrary() error {
	run := begin()
	defer run.end()
	abi, size := uint32(C.ggufx_abi_version()), uintptr(C.ggufx_struct_size(run.text("ggufx_error")))
	if abi != ABIVersion || size != unsafe.Sizeof(C.ggufx_error{}) {
		err := argument("the library has ABI %d and errors of %d bytes, not %d", abi, size, ABIVersion)
		err.(*Error).Status = StatusVersion
		return err
	}
	return nil
}

// String returns the name of the type.
func (t TensorType) String() string {
	info, err := TypeInfo(t)
	if err != nil {
		return "unknown"
	}
	return info.Name
}
