// SPDX-License-Identifier: MIT

package ggufx

// #include "jobs.h"
import "C"

import "unsafe"

// Choose sets per-tensor overrides by a function; false leaves a tensor to the recipe. Replaces
// earlier overrides; after a failure the plan is as it was. Errors: those of NewQuantizer.
func (q *Quantizer) Choose(rule func(t PlannedTensor) (TensorType, bool)) error {
	tensors, err := q.Tensors()
	if err != nil {
		return err
	}
	types := make([]C.uint32_t, len(tensors)+1)
	for i, t := range tensors {
		types[i] = JobByRecipe
		if chosen, ok := rule(t); ok {
			types[i] = C.uint32_t(chosen)
		}
	}
	return q.use(func(p *C.ggufx_job, e *C.ggufx_error) C.ggufx_status {
		return C.ggufx_job_set_types(p, &types[0], C.size_t(len(tensors)), e)
	})
}

// Measure returns the quantization error of a type for tensor i: the RMS error of up to maxValues
// values (0: all); watch may be nil. Errors: TYPE, UNSUPPORTED, SHAPE, VALUE, CANCELLED.
func (q *Quantizer) Measure(i int, t TensorType, maxValues uint64, watch *Watch) (float64, error) {
	out := new(C.double)
	err := watched(watch, func(user C.uintptr_t) error {
		return q.use(func(p *C.ggufx_job, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_job_measure(out, p, C.size_t(i), C.uint32_t(t),
				C.uint64_t(maxValues), user, e)
		})
	})
	return float64(*out), err
}

// RunOptions of Run; nil writes the whole file.
type RunOptions struct {
	Flags         JobRunFlags
	Shard, Shards int // number of this run, from 1, and how many share the work; Finish ends it
	TensorDone    func(i int, t PlannedTensor)
	Watch         Watch // in bytes of input
}

//export ggufxGoTensor
func ggufxGoTensor(user C.uintptr_t, index C.size_t, t *C.ggufx_job_tensor) {
	c := of(user)
	c.guard(func() error { c.tensorDone(int(index), plannedTensorOf(t)); return nil })
}

// Run writes the file, whole or not at all; with JobRunKeep a cancelled run leaves temporary files,
// from which a run with JobRunResume continues. Errors: STATE, MISMATCH, VALUE, IO, CANCELLED, ...
func (q *Quantizer) Run(path string, options *RunOptions) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var o RunOptions
	if options != nil {
		o = *options
	}
	run := func(user C.uintptr_t, follow, tensors C.int) error {
		return q.use(func(p *C.ggufx_job, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_job_run(p, text, C.uint32_t(o.Flags), C.uint32_t(o.Shard),
				C.uint32_t(o.Shards), user, follow, tensors, e)
		})
	}
	if o.TensorDone == nil {
		return watched(&o.Watch, func(user C.uintptr_t) error { return run(user, 1, 0) })
	}
	c := callbacks{watch: o.Watch, tensorDone: o.TensorDone}
	return c.run(func(user C.uintptr_t) error { return run(user, 1, 1) })
}

// Finish ends the work of shards: it checks them, writes the metadata, renames; watch may be nil.
// Errors: NOT_FOUND, STATE (the shards' work stays for another try), those of Run.
func (q *Quantizer) Finish(path string, watch *Watch) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return watched(watch, func(user C.uintptr_t) error {
		return q.use(func(p *C.ggufx_job, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_job_finish(p, text, user, e)
		})
	})
}

// EditInfo is what an edit does.
type EditInfo struct {
	InPlace                      bool // tensor data stay where they are, unread and unwritten
	Bytes, ReserveBytes, Written uint64
}

func (w *Writer) edit(f *File, path *C.char, flags EditFlags, watch *Watch) (EditInfo, error) {
	fp, err := f.enter()
	if err != nil {
		return EditInfo{}, err
	}
	defer f.leave()
	out := new(C.ggufx_edit_facts)
	out.struct_size = C.uint32_t(unsafe.Sizeof(*out))
	err = watched(watch, func(user C.uintptr_t) error {
		return w.use(func(p *C.ggufx_writer, e *C.ggufx_error) C.ggufx_status {
			return C.ggufx_go_edit(out, p, fp, path, C.uint32_t(flags), user, e)
		})
	})
	return EditInfo{out.in_place != 0, uint64(out.n_bytes), uint64(out.reserve_bytes),
		uint64(out.n_written)}, err
}

// EditInfo describes the effect of Edit: the writer holds the new content.
func (w *Writer) EditInfo(f *File, flags EditFlags) (EditInfo, error) {
	return w.edit(f, nil, flags, nil)
}

// Edit makes the edit to the file at path, from which f was opened: in place if the keys fit, else
// as a new file; watch may be nil. Errors: STATE, CAPACITY, CANCELLED, IO, ...
func (w *Writer) Edit(f *File, path string, flags EditFlags, watch *Watch) (EditInfo, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return w.edit(f, text, flags, watch)
}

// RecoverEdit finishes an in-place edit interrupted by a crash; false: there was none. Errors:
// STATE, IO, NOT_FOUND.
func (rt *Runtime) RecoverEdit(path string) (bool, error) {
	rtp, err := rt.enter()
	if err != nil {
		return false, err
	}
	defer rt.leave()
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var out C.int32_t
	e := record()
	err = done(C.ggufx_edit_recover(&out, rtp, text, e), e)
	return out != 0, err
}
