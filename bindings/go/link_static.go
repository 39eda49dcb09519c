//go:build ggufx_static

// SPDX-License-Identifier: MIT

package ggufx

// The static library and its C++ dependencies; CGO_CFLAGS and CGO_LDFLAGS name folders that are not
// the system's.

// #cgo CFLAGS: -DGGUFX_STATIC
// #cgo LDFLAGS: -l:libggufx.a -lstdc++ -lm -ldl -lpthread
import "C"
