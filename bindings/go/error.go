// SPDX-License-Identifier: MIT

package ggufx

// #include "safe.h"
import "C"

import "fmt"

// None marks an absent Error.Offset or Error.Index.
const None = ^uint64(0)

// Error is the error of a failed call, which changed nothing. errors.Is matches its Status, and the
// error of a context or callback: errors.Is(err, ggufx.StatusNotFound), errors.Is(err,
// context.Canceled).
type Error struct {
	Status      Status
	SystemError int    // errno of the failed system call, else 0
	Offset      uint64 // byte offset in the file, or None
	Index       uint64 // number of the key, tensor, row, token or argument, or None
	Value       uint64 // with StatusCapacity and StatusLimit: the number that was too large
	Limit       uint64 // with those: the most that it may be
	Message     string // the object, the location, the value and the limit
	cause       error
}

// Error returns the code's name and the sentence.
func (e *Error) Error() string { return e.Status.Error() + ": " + e.Message }

// Is compares with a Status.
func (e *Error) Is(target error) bool {
	status, ok := target.(Status)
	return ok && status == e.Status
}

// Unwrap returns the error of the caller's context or callback, if that ended the call.
func (e *Error) Unwrap() error { return e.cause }

// Error returns the name of the code, "TRUNCATED".
func (s Status) Error() string { return C.GoString(C.ggufx_status_name(C.ggufx_status(s))) }

func failed(status C.ggufx_status, e *C.ggufx_error) error {
	err := &Error{
		Status:      Status(status),
		SystemError: int(e.system_error),
		Offset:      uint64(e.offset),
		Index:       uint64(e.index),
		Value:       uint64(e.value),
		Limit:       uint64(e.limit),
		Message:     C.GoString(&e.message[0]),
	}
	*e = C.ggufx_error{}
	return err
}

func argument(format string, values ...any) error {
	return &Error{Status: StatusArgument, Offset: None, Index: None,
		Message: fmt.Sprintf(format, values...)}
}
