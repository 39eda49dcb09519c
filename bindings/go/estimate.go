// SPDX-License-Identifier: MIT

package ggufx

// #include "jobs.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// EstimateOptions of Estimate and Recommend; nil is the file as it is with the context of a session.
type EstimateOptions struct {
	Recipe       *FileType         // as this recipe would make it; nil: as it is, or left to Recommend
	Quantizer    *QuantizerOptions // how the recipe would be used
	WithImatrix  bool              // an imatrix with an entry for every tensor will be there
	Context      uint32            // tokens of each session; 0: as NewSession
	Batch        uint32            // tokens computed at once; 0: 512
	Sessions     uint32            // number of concurrent sessions; 0: 1
	Sequences    uint32            // conversations of each session; 0: 1
	ContextTotal uint64            // per session, as in SessionOptions
	TypeK        KVType            // type of the keys; KVDEFAULT for both leaves them to Recommend
	TypeV        KVType            // type of the values
	MemoryBytes  uint64            // memory limit in bytes; 0: no limit
	Bandwidth    float64           // bytes that all threads read from memory per second; 0: no speeds
	Checkpoints  uint32            // per session, as in SessionOptions
	Adapters     []*File           // used by each session, all of them in each sequence
}

// Estimate is the memory of a model, in bytes; see ggufx_estimate_facts.
type Estimate struct {
	Flags                       EstimateFlags
	FileType                    uint32 // recipe, or EstimateAsIs
	Context, Batch, Sessions    uint32
	TypeK, TypeV                KVType
	MaxContext                  uint32 // largest that fits; 0: none
	Parameters                  uint64
	Weight, File                uint64 // Weight is in File
	Runtime, Model, KV, Session uint64
	Total                       uint64 // sum of File, the four members above and adapters
	TokenWeight, TokenKV        uint64 // that one token reads
	BitsPerWeight, WeightError  float64
	Loss                        float64 // expected, in nats per token
	TokensPerSecond             float64 // at most; 0: no bandwidth
	TokensPerSecondFull         float64 // at the end of the context
	AdapterFile, Adapter        uint64  // adapter files; their memory is included in Total
}

func (rt *Runtime) ask(f *File, options *EstimateOptions, best C.int) (Estimate, error) {
	rtp, err := rt.enter()
	if err != nil {
		return Estimate{}, err
	}
	defer rt.leave()
	fp, err := f.enter()
	if err != nil {
		return Estimate{}, err
	}
	defer f.leave()
	var o C.ggufx_estimate_options
	o.struct_size = C.uint32_t(unsafe.Sizeof(o))
	if options == nil {
		options = new(EstimateOptions)
	}
	if options.Recipe != nil {
		o.flags, o.file_type = C.GGUFX_ESTIMATE_FILE_TYPE, C.uint32_t(options.Recipe.ID)
	}
	if options.WithImatrix {
		o.flags |= C.GGUFX_ESTIMATE_IMATRIX
	}
	o.n_context, o.n_batch = C.uint32_t(options.Context), C.uint32_t(options.Batch)
	o.n_sessions, o.n_sequences = C.uint32_t(options.Sessions), C.uint32_t(options.Sequences)
	o.n_context_total = C.uint64_t(options.ContextTotal)
	o.type_k, o.type_v = C.uint32_t(options.TypeK), C.uint32_t(options.TypeV)
	o.memory_bytes, o.bandwidth = C.uint64_t(options.MemoryBytes), C.double(options.Bandwidth)
	o.n_checkpoints = C.uint32_t(options.Checkpoints)
	list, leave, err := nativeFiles(options.Adapters)
	if err != nil {
		return Estimate{}, err
	}
	defer leave()
	o.adapters, o.n_adapters = list, C.size_t(len(options.Adapters))
	job, imatrix, _, free, err := options.Quantizer.raw() // no estimate writes the imatrix's name
	if err != nil {
		return Estimate{}, err
	}
	defer free()
	var out C.ggufx_estimate_facts
	out.struct_size = C.uint32_t(unsafe.Sizeof(out))
	e := record()
	err = done(C.ggufx_go_estimate(&out, rtp, fp, &o, &job, imatrix, best, e), e)
	runtime.KeepAlive(options)
	return estimateOf(&out), err
}

// nativeFiles enters files and lists them in memory of C's; leave ends both.
func nativeFiles(files []*File) (list **C.ggufx_file, leave func(), err error) {
	const pointerBytes = unsafe.Sizeof(uintptr(0))
	list = (**C.ggufx_file)(C.malloc(C.size_t(uintptr(len(files))*pointerBytes + 1))) // never nil
	to, n := unsafe.Slice(list, len(files)), 0
	leave = func() {
		for _, f := range files[:n] {
			f.leave()
		}
		C.free(unsafe.Pointer(list))
	}
	for ; n < len(files); n++ {
		to[n], err = files[n].enter()
		if err != nil {
			leave()
			return nil, nil, err
		}
	}
	return list, leave, nil
}

func estimateOf(o *C.ggufx_estimate_facts) Estimate {
	return Estimate{EstimateFlags(o.flags), uint32(o.file_type), uint32(o.n_context),
		uint32(o.n_batch), uint32(o.n_sessions), KVType(o.type_k), KVType(o.type_v),
		uint32(o.max_context), uint64(o.n_parameters), uint64(o.weight_bytes),
		uint64(o.file_bytes), uint64(o.runtime_bytes), uint64(o.model_bytes), uint64(o.kv_bytes),
		uint64(o.session_bytes), uint64(o.total_bytes), uint64(o.token_weight_bytes),
		uint64(o.token_kv_bytes), float64(o.bits_per_weight), float64(o.weight_error),
		float64(o.loss), float64(o.tokens_per_second), float64(o.tokens_per_second_full),
		uint64(o.adapter_file_bytes), uint64(o.adapter_bytes)}
}

// Estimate returns the memory of a model: of the unchanged file, or after quantization by a recipe.
func (rt *Runtime) Estimate(f *File, options *EstimateOptions) (Estimate, error) {
	return rt.ask(f, options, 0)
}

// Recommend returns the recipe and cache types with the least quality loss that fit. Errors:
// CAPACITY (nothing fits).
func (rt *Runtime) Recommend(f *File, options *EstimateOptions) (Estimate, error) {
	return rt.ask(f, options, 1)
}
