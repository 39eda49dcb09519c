// SPDX-License-Identifier: MIT

package ggufx

// #include "jobs.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// FileType is a recipe of types for the tensors of a model: a value of general.file_type.
type FileType struct {
	Name string // "Q4_K_M"
	ID   uint32
	Type TensorType // that most tensors get
}

func fileTypeAt(i int) (FileType, error) {
	var out C.ggufx_file_type_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	e := record()
	err := done(C.ggufx_file_type_at(&out, C.size_t(i), e), e)
	return FileType{C.GoString(out.name), uint32(out.file_type), TensorType(out._type)}, err
}

// FileTypes lists all recipes, most bits first.
func FileTypes() []FileType {
	all := make([]FileType, 0, int(C.ggufx_file_type_count()))
	for i := 0; i < cap(all); i++ {
		if t, err := fileTypeAt(i); err == nil {
			all = append(all, t)
		}
	}
	return all
}

// FileTypeFromName finds a recipe, without regard to case; "Q4_K" is Q4_K_M. Errors: NOT_FOUND.
func FileTypeFromName(name string) (FileType, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var id C.uint32_t
	e := record()
	if err := done(C.ggufx_file_type_from_name(&id, text, e), e); err != nil {
		return FileType{}, err
	}
	for _, t := range FileTypes() {
		if t.ID == uint32(id) {
			return t, nil
		}
	}
	return FileType{}, argument("%q is not listed", name)
}

// Quantizer is a quantization that is planned, runs, or has run; it keeps its file.
type Quantizer struct{ *handle }

// QuantizerOptions of NewQuantizer; nil is the recipe alone.
type QuantizerOptions struct {
	Flags         JobFlags
	OutputType    TensorType // type of output.weight, with JobOutputType
	EmbeddingType TensorType // type of token_embd.weight, with JobEmbeddingType
	Imatrix       *Imatrix
	ImatrixName   string // for the key quantize.imatrix.file
	ReserveBytes  uint64 // room for later edits
}

// raw returns the C record with its imatrix and name (C memory); free releases both.
func (options *QuantizerOptions) raw() (o C.ggufx_job_options, imatrix *C.ggufx_imatrix,
	name *C.char, free func(), err error) {
	free = func() {}
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options == nil {
		return
	}
	o.flags, o.reserve_bytes = C.uint32_t(options.Flags), C.uint64_t(options.ReserveBytes)
	o.output_type = C.uint32_t(options.OutputType)
	o.embedding_type = C.uint32_t(options.EmbeddingType)
	if options.Imatrix != nil {
		if imatrix, err = options.Imatrix.enter(); err != nil {
			return
		}
	}
	if options.ImatrixName != "" {
		name = C.CString(options.ImatrixName)
	}
	free = func() {
		if imatrix != nil {
			options.Imatrix.leave()
		}
		C.free(unsafe.Pointer(name))
	}
	return
}

// NewQuantizer plans the quantization of a file by a recipe.
func (rt *Runtime) NewQuantizer(f *File, recipe FileType, options *QuantizerOptions) (*Quantizer, error) {
	rtp, err := rt.enter()
	if err != nil {
		return nil, err
	}
	defer rt.leave()
	fp, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.leave()
	o, imatrix, name, free, err := options.raw()
	if err != nil {
		return nil, err
	}
	defer free()
	var q *C.ggufx_job
	e := record()
	err = done(C.ggufx_go_job(&q, rtp, fp, C.uint32_t(recipe.ID), &o, imatrix, name, e), e)
	runtime.KeepAlive(options)
	if err != nil {
		return nil, err
	}
	return &Quantizer{hold(unsafe.Pointer(q), destroyQuantizer)}, nil
}

// Close lets go of the plan and its file.
func (q *Quantizer) Close() error {
	if q == nil {
		return nil
	}
	return q.close()
}

func (q *Quantizer) enter() (*C.ggufx_job, error) {
	if q == nil {
		return nil, argument("no quantizer")
	}
	p, err := q.handle.enter("quantizer")
	return (*C.ggufx_job)(p), err
}

func destroyQuantizer(p unsafe.Pointer) { C.ggufx_job_destroy((*C.ggufx_job)(p)) }

// use runs a call that returns only a status.
func (q *Quantizer) use(call func(p *C.ggufx_job, e *C.ggufx_error) C.ggufx_status) error {
	p, err := q.enter()
	if err != nil {
		return err
	}
	defer q.leave()
	e := record()
	return done(call(p, e), e)
}

// QuantizerInfo describes a plan.
type QuantizerInfo struct {
	Tensors, Parts, Values        uint64
	BytesIn, BytesOut, FileBytes  uint64
	Fallbacks, MissingFromImatrix uint64
}

// Info describes the plan.
func (q *Quantizer) Info() (QuantizerInfo, error) {
	qp, err := q.enter()
	if err != nil {
		return QuantizerInfo{}, err
	}
	defer q.leave()
	out, e := C.ggufx_job_facts{}, record()
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	err = done(C.ggufx_job_info(&out, qp, e), e)
	return QuantizerInfo{uint64(out.n_tensors), uint64(out.n_parts), uint64(out.n_values),
		uint64(out.bytes_in), uint64(out.bytes_out), uint64(out.file_bytes),
		uint64(out.n_fallbacks), uint64(out.n_missing)}, err
}

// PlannedTensor is the planned quantization of one tensor.
type PlannedTensor struct {
	Name              string
	Ne                []uint64
	From, To, Wanted  TensorType // Wanted: before a fallback
	Reason            JobReason
	Imatrix           int // 1: an entry weighs its columns; 0: none is wanted; negative: none there
	Part              int // output file
	BytesIn, BytesOut uint64
	RMSE              float64 // from a run with JobRunMeasure; negative: not measured
	Seconds           float64 // result of the last run
}

func plannedTensorOf(t *C.ggufx_job_tensor) PlannedTensor {
	ne := make([]uint64, int(t.n_dims))
	for i := range ne {
		ne[i] = uint64(t.ne[i])
	}
	return PlannedTensor{string(view(t.name, t.name_length)), ne, TensorType(t.from),
		TensorType(t.to), TensorType(t.wanted), JobReason(t.reason), int(t.imatrix), int(t.part),
		uint64(t.bytes_in), uint64(t.bytes_out), float64(t.rmse), float64(t.seconds)}
}

// At returns tensor i in the order they are written. Errors: ARGUMENT.
func (q *Quantizer) At(i int) (PlannedTensor, error) {
	qp, err := q.enter()
	if err != nil {
		return PlannedTensor{}, err
	}
	defer q.leave()
	var out C.ggufx_job_tensor
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	e := record()
	err = done(C.ggufx_job_tensor_at(&out, qp, C.size_t(i), e), e)
	if err != nil {
		return PlannedTensor{}, err
	}
	t := plannedTensorOf(&out)
	return t, nil
}

// Tensors returns all tensors in the order they are written.
func (q *Quantizer) Tensors() ([]PlannedTensor, error) {
	info, err := q.Info()
	all := make([]PlannedTensor, 0, info.Tensors)
	for i := 0; err == nil && i < cap(all); i++ {
		var t PlannedTensor
		t, err = q.At(i)
		all = append(all, t)
	}
	return all, err
}
