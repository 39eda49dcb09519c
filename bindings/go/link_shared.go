//go:build !ggufx_static

// SPDX-License-Identifier: MIT

package ggufx

// #cgo pkg-config: ggufx
import "C"
