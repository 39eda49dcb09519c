//! Structs, names and codes agree with the library that is loaded.
// SPDX-License-Identifier: MIT
use crate::{fails, runtime};
use ggufx::{sys, type_find, type_info, Status, TensorType};

#[test]
fn structs_have_the_library_s_sizes() {
    let _rt = runtime();
    for (name, size) in sys::SIZES {
        let there = unsafe { sys::ggufx_struct_size(name.as_ptr().cast()) };
        assert_eq!(there, size, "{}", name);
    }
    assert_eq!(unsafe { sys::ggufx_abi_version() }, sys::GGUFX_ABI_VERSION);
    assert!(sys::NAMES.len() > 100);
}

#[test]
fn type_ids_have_the_library_s_names() {
    let _rt = runtime();
    for (kind, name) in [
        (TensorType::F32, "f32"),
        (TensorType::Q4_K, "q4_K"),
        (TensorType::IQ4_NL, "iq4_nl"),
        (TensorType::MXFP4, "mxfp4"),
    ] {
        assert_eq!(type_info(kind).unwrap().name, name);
        assert_eq!(type_find(name).unwrap(), kind);
    }
    assert_eq!(type_find("tq3_0").unwrap(), ggufx::TensorType::TQ3_0);
    assert_eq!(type_info(ggufx::TensorType::Q8_0).unwrap().block_values, 32);
    assert_eq!(format!("{:?} {:?}", TensorType::Q4_K, TensorType(77)), "Q4_K TensorType(77)");
    assert!(ggufx::has("type:q4_K") && !ggufx::has("type:none") && !ggufx::has("a\0b"));
    assert_eq!(ggufx::type_row_bytes(TensorType::Q4_K, 512).unwrap(), 288);
    fails(type_find("Q4_Q"), Status::NOT_FOUND);
    fails(type_find("a\0b"), Status::ARGUMENT);
}

#[test]
fn codes_have_names() {
    let _rt = runtime();
    assert_eq!(Status::TRUNCATED.name(), "TRUNCATED");
    assert_eq!(Status::OK.name(), "OK");
    assert_eq!(Status::MISSING.0, -50);
    assert!(ggufx::version().starts_with("0."));
}
