// SPDX-License-Identifier: MIT

package ggufx

// #include "bridge.h"
import "C"

import (
	"strings"
	"unsafe"
)

// PreTokenizer splits text for byte-level BPE before merges.
type PreTokenizer struct {
	Name  string // tokenizer.ggml.pre, "llama-bpe"
	Rules string // name of its split rules; equal for equal rules
	Flags PreFlags
	// Steps in tokenizer.json: S and the pattern of a Split, D single digits, G GPT-2's pattern
	// and bytes, B bytes; nil where they are not known.
	Steps []string
}

// PreTokenizers returns all pre-tokenizers of the library.
func PreTokenizers() ([]PreTokenizer, error) {
	all := make([]PreTokenizer, C.ggufx_tokenizer_pre_count())
	for i := range all {
		out, e := C.ggufx_pre_facts{}, record()
		out.struct_size = C.uint32_t(unsafe.Sizeof(out))
		if err := done(C.ggufx_tokenizer_pre(&out, C.size_t(i), e), e); err != nil {
			return nil, err
		}
		all[i] = PreTokenizer{C.GoString(out.name), C.GoString(out.rules), PreFlags(out.flags), nil}
		if out.steps != nil { // NUL-terminated
			steps := strings.SplitAfter(string(view(out.steps, out.steps_length)), "\x00")
			for _, step := range steps[:len(steps)-1] {
				all[i].Steps = append(all[i].Steps, step[:len(step)-1])
			}
		}
	}
	return all, nil
}

// UnicodeVersion is the Unicode version of the split rules, "15.0.0".
func UnicodeVersion() string { return C.GoString(C.ggufx_tokenizer_unicode()) }
