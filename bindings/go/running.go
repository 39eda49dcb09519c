// SPDX-License-Identifier: MIT

package ggufx

// #include "hooks.h"
import "C"

import (
	"errors"
	"strings"
	"sync"
	"unsafe"
)

// running is a call of the library: what it uses until it ends. It is used again by later calls, so
// that a call allocates nothing.
type running struct {
	e         *C.ggufx_error
	err       error // first fault of the arguments
	outputs   *[8]uint64
	nOutputs  int
	entered   []entered
	memory    []unsafe.Pointer // of C, freed at the end
	held      []*handle        // that the new object needs
	together  *handle          // whose lock the new object shares
	functions *functions       // of the program, called until the end
	kept      *functions       // called later, too, if an object adopts them
}

type entered struct {
	*handle
	how use
}

var pool = sync.Pool{New: func() any {
	return &running{e: new(C.ggufx_error), outputs: new([8]uint64)}
}}

func begin() *running { return pool.Get().(*running) }

func (run *running) end() {
	for _, h := range run.entered {
		h.leave(h.how)
	}
	for _, p := range run.memory {
		C.free(p)
	}
	if run.functions != nil {
		run.functions.drop()
	}
	if run.kept != nil {
		run.kept.drop()
	}
	*run = running{e: run.e, outputs: run.outputs, entered: run.entered[:0], memory: run.memory[:0],
		held: run.held[:0]}
	pool.Put(run)
}

func (run *running) fail(err error) {
	if run.err == nil {
		run.err = err
	}
}

// enter counts the call in on an object, and on the one whose lock it shares.
func (run *running) enter(h *handle, what string, how use) unsafe.Pointer {
	if h == nil { // of a struct that no call made
		run.fail(argument("the %s is empty", what))
		return nil
	}
	p := h.p
	if h.owner != nil {
		what, h = h.owned, h.owner
	}
	run.use(h, what, how, false)
	if run.err == nil && h.with != nil && how != beside && !run.uses(h.with) {
		run.use(h.with, what, how, true)
	}
	return p
}

func (run *running) use(h *handle, what string, how use, held bool) {
	if err := h.enter(what, how, held); err != nil {
		run.fail(err)
		return
	}
	run.entered = append(run.entered, entered{h, how})
}

func (run *running) uses(h *handle) bool {
	for _, other := range run.entered {
		if other.handle == h {
			return true
		}
	}
	return false
}

// done returns the error of a call, with that of a function of the program, whose panic goes on.
func (run *running) done(status C.ggufx_status) error {
	var err error
	if status != C.GGUFX_OK {
		err = failed(status, run.e)
	}
	run.functions.settle(err)
	run.kept.settle(err)
	for _, h := range run.entered {
		for _, set := range h.kept {
			set.settle(err)
		}
	}
	return err
}

// hold takes a new object; like: of the same type, whose functions it calls, too.
func (run *running) hold(p unsafe.Pointer, destroy func(unsafe.Pointer), like *handle, holds ...*handle) *handle {
	h := newHandle(p, destroy)
	h.holds = append(holds, run.held...)
	if h.with = run.together; h.with == nil && like != nil {
		h.with = like.with
	}
	if h.with != nil {
		h.holds = append(h.holds, h.with)
	}
	for _, other := range h.holds {
		other.state.Add(oneHold)
	}
	if like != nil {
		for _, set := range like.kept {
			set.users.Add(1)
			h.kept = append(h.kept, set)
		}
	}
	run.adopt(h)
	return h
}

// adopt lets an object keep the functions of a call.
func (run *running) adopt(h *handle) {
	if run.kept != nil {
		h.kept = append(h.kept, run.kept)
		run.kept = nil
	}
}

// ---- arguments ---------------------------------------------------------------------------------

// slot returns a place for an output, which is 0.
func slot[T any](run *running) *T {
	at := &run.outputs[run.nOutputs]
	*at = 0
	run.nOutputs++
	return (*T)(unsafe.Pointer(at))
}

// alloc returns n zeros of C until the end of the call: C may not see Go's pointers inside of
// structs.
func alloc[T any](run *running, n int) *T {
	var one T
	p := C.calloc(C.size_t(n)+1, C.size_t(unsafe.Sizeof(one))) // never nil
	run.memory = append(run.memory, p)
	return (*T)(p)
}

// place copies a slice; nil if it is empty.
func place[T any](run *running, from []T) unsafe.Pointer {
	if len(from) == 0 {
		return nil
	}
	to := alloc[T](run, len(from))
	copy(unsafe.Slice(to, len(from)), from)
	return unsafe.Pointer(to)
}

// values places floats of a type of files; those of F16 and BF16 are given as their bits.
func values(run *running, name string, typ TensorType, from any) (unsafe.Pointer, C.size_t) {
	switch of := from.(type) {
	case nil:
		return nil, 0
	case []float32:
		if typ == TypeF32 {
			return place(run, of), C.size_t(len(of))
		}
	case []uint16:
		if typ == TypeF16 || typ == TypeBF16 {
			return place(run, of), C.size_t(len(of))
		}
	}
	if run.err == nil {
		run.err = argument("%s has the type %T", name, from)
	}
	return nil, 0
}

// one writes a struct; nil stays nil.
func one[C any, T any, P interface {
	*T
	write(*running, *C)
}](run *running, from P) *C {
	if from == nil {
		return nil
	}
	to := alloc[C](run, 1)
	from.write(run, to)
	return to
}

// list writes an array of structs.
func list[C any, T any, P interface {
	*T
	write(*running, *C)
}](run *running, from []T) *C {
	if len(from) == 0 {
		return nil
	}
	first := alloc[C](run, len(from))
	to := unsafe.Slice(first, len(from))
	for i := range from {
		P(&from[i]).write(run, &to[i])
	}
	return first
}

// objects writes an array of objects.
func objects[C any, T interface{ enter(*running, use) *C }](run *running, from []T) **C {
	if len(from) == 0 {
		return nil
	}
	first := alloc[*C](run, len(from))
	to := unsafe.Slice(first, len(from))
	for i := range from {
		to[i] = from[i].enter(run, shared)
	}
	return first
}

// text is a string with NUL at its end.
func (run *running) text(s string) *C.char {
	if strings.IndexByte(s, 0) >= 0 {
		run.fail(argument("a text has a NUL: %q", s))
	}
	to := alloc[byte](run, len(s))
	copy(unsafe.Slice(to, len(s)), s)
	return (*C.char)(unsafe.Pointer(to))
}

// optional is a text, nil if it is empty.
func (run *running) optional(s string) *C.char {
	if s == "" {
		return nil
	}
	return run.text(s)
}

// copied is a string of any bytes for a struct, nil if it is empty.
func (run *running) copied(s string) (*C.char, C.size_t) {
	if s == "" {
		return nil, 0
	}
	to := alloc[byte](run, len(s))
	copy(unsafe.Slice(to, len(s)), s)
	return (*C.char)(unsafe.Pointer(to)), C.size_t(len(s))
}

type nativeText struct {
	data *C.char
	size C.size_t
}

// texts are structs of an address and a length.
func (run *running) texts(from []string) unsafe.Pointer {
	first := alloc[nativeText](run, len(from))
	for i, s := range from {
		unsafe.Slice(first, len(from))[i] = nativeText{run.present(s), C.size_t(len(s))}
	}
	return unsafe.Pointer(first)
}

// textArrays are addresses and lengths.
func (run *running) textArrays(from []string) (**C.char, *C.size_t) {
	first, lengths := alloc[*C.char](run, len(from)), alloc[C.size_t](run, len(from))
	for i, s := range from {
		unsafe.Slice(first, len(from))[i] = run.present(s)
		unsafe.Slice(lengths, len(from))[i] = C.size_t(len(s))
	}
	return first, lengths
}

// present is a string of any bytes; also an empty one has an address.
func (run *running) present(s string) *C.char {
	to := alloc[byte](run, len(s))
	copy(unsafe.Slice(to, len(s)), s)
	return (*C.char)(unsafe.Pointer(to))
}

func (run *running) size(name string, n int) C.size_t {
	if n < 0 {
		run.fail(argument("%s is %d, not a size", name, n))
		return 0
	}
	return C.size_t(n)
}

// equal checks the length of a slice, which may be missing.
func (run *running) equal(name string, n int, missing bool, want int) {
	if !missing && n != want {
		run.fail(argument("%s has %d elements, not %d", name, n, want))
	}
}

// same checks that slices are equally long; empty ones are missing.
func (run *running) same(names string, lengths ...int) int {
	most := 0
	for _, n := range lengths {
		if n != 0 && most != 0 && n != most {
			run.fail(argument("%s have different lengths: %d and %d", names, most, n))
		}
		if n > most {
			most = n
		}
	}
	return most
}

// product of two sizes; -1 if it is none.
func product(a, b int) int {
	if a < 0 || b < 0 || (b != 0 && a > int(^uint(0)>>1)/b) {
		return -1
	}
	return a * b
}

func sum(lengths []uint) int {
	total := uint(0)
	for _, n := range lengths {
		if total+n < n || int(total+n) < 0 {
			return -1
		}
		total += n
	}
	return int(total)
}

func flag(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

// address of the first element, nil if there is none.
func address[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}

var empty C.char

// chars is the address of a string's bytes, which C only reads during the call.
func chars(s string) *C.char {
	if s == "" {
		return &empty
	}
	return (*C.char)(*(*unsafe.Pointer)(unsafe.Pointer(&s)))
}

func optionalChars(s string) *C.char {
	if s == "" {
		return nil
	}
	return chars(s)
}

// ---- results -----------------------------------------------------------------------------------

// grow makes room for n elements if the call wanted it.
func grow[T any](out *[]T, n int, err error) bool {
	if !errors.Is(err, StatusCapacity) || n <= len(*out) {
		return false
	}
	*out = make([]T, n)
	return true
}

// sizes tells C the size of the structs of an array.
func sizes[T any](of []T) {
	*(*C.uint32_t)(unsafe.Pointer(&of[0])) = C.uint32_t(unsafe.Sizeof(of[0]))
}

// view shows n bytes of the library.
func view(text *C.char, n C.size_t) []byte {
	if text == nil || n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(text)), int(n))
}

// copied copies n elements of the library; nil if there are none.
func copied[T any](from unsafe.Pointer, n int) []T {
	if from == nil {
		return nil
	}
	return append([]T(nil), unsafe.Slice((*T)(from), n)...)
}

func structsOf[C any, T any](from *C, n int, of func(*C) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = of(&unsafe.Slice(from, n)[i])
	}
	return all
}
