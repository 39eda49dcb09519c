//! Importance matrices in both formats.
// SPDX-License-Identifier: MIT
use crate::{fails, runtime, scratch};
use ggufx::{Imatrix, ImatrixFormat, Status};
use std::ops::ControlFlow;

/// Two tensors of two and three columns, one call of 512 tokens, data set "text".
pub fn old() -> Vec<u8> {
    let mut out = 2i32.to_le_bytes().to_vec();
    for (name, values) in [("a.weight", &[512f32, 1024.][..]), ("b.weight", &[1., 2., 3.])] {
        out.extend((name.len() as i32).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(1i32.to_le_bytes());
        out.extend((values.len() as i32).to_le_bytes());
        values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    }
    out.extend(1i32.to_le_bytes());
    out.extend(4i32.to_le_bytes());
    out.extend(b"text");
    out
}

#[test]
fn entries_are_found_merged_and_written() {
    let (rt, path) = (runtime(), scratch("imatrix.gguf"));
    let mut m = Imatrix::open_memory(&rt, &old()).unwrap();
    assert_eq!((m.info().unwrap().n_entries, m.info().unwrap().n_datasets), (2, 1));
    assert_eq!(m.dataset_at(0).unwrap(), b"text");
    let before = m.entry_at(m.find("a.weight").unwrap()).unwrap().values.to_vec();
    assert_eq!((before.len(), before[1] / before[0]), (2, 2.0));
    assert_eq!(m.entry_at(1).unwrap().name, b"b.weight");
    let other = Imatrix::open_memory(&rt, &old()).unwrap();
    let counts = m.entry_at(0).unwrap().counts[0];
    m.merge(&other).unwrap();
    assert_eq!(m.entry_at(0).unwrap().counts[0], 2.0 * counts);
    m.write(&path, ImatrixFormat::GGUF, None).unwrap();
    let again = Imatrix::open(&rt, &path, None).unwrap();
    assert_eq!(again.entry_at(0).unwrap().sums, m.entry_at(0).unwrap().sums);
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    fails(Imatrix::open(&rt, &path, Some(&mut stop)), Status::CANCELLED);
    std::fs::remove_file(&path).unwrap();
    m.keep_entries(&[0, 1]).unwrap();
    assert_eq!((m.info().unwrap().n_entries, m.entry_at(0).unwrap().n_columns), (1, 3));
    fails(m.find("a.weight"), Status::NOT_FOUND);
    fails(m.keep_entries(&[1, 1]), Status::ARGUMENT);
    fails(m.entry_at(1), Status::ARGUMENT);
}
