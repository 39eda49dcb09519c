//! Files written and read back.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, numbers, runtime, scratch};
use ggufx::{
    File, OpenOptions, Status, Tensor, TensorType, ValueType, WriteOptions, Writer, WriterOptions,
};
use std::ops::ControlFlow;

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn small() -> Writer {
    let rt = runtime();
    let mut w = Writer::new(&rt, WriterOptions::default()).unwrap();
    w.set_string("general.architecture", "test").unwrap();
    w.set_u64("a.u8", ValueType::U8, 200).unwrap();
    w.set_i64("a.i32", ValueType::I32, -7).unwrap();
    w.set_f64("a.f32", ValueType::F32, 0.5).unwrap();
    w.set_bool("a.bool", true).unwrap();
    w.set_array("a.array", &[1i16, -2, 3]).unwrap();
    w.set_array_string("a.strings", &["one", "", "two\0"]).unwrap();
    let nested = [
        [9u32, 2].map(u32::to_le_bytes).concat(),
        vec![0; 4],
        (0..2)
            .flat_map(|i| [vec![4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], vec![i, 0, 0, 0]].concat())
            .collect(),
    ]
    .concat();
    w.set_value("a.nested", ValueType::ARRAY, &nested).unwrap();
    let data = bytes_of(&numbers(64));
    let t = Tensor::wrap(&rt, TensorType::F32, &[32, 2], 0, data, "t0").unwrap();
    w.add_tensor(&t, None).unwrap();
    w.add_tensor(&t, Some("t1")).unwrap();
    w.add_stream("t2", TensorType::I8, &[64], |offset: u64, buffer: &mut [u8]| {
        buffer.iter_mut().enumerate().for_each(|(i, b)| *b = offset as u8 + i as u8);
        Ok(())
    })
    .unwrap();
    w
}

#[test]
fn what_is_written_is_read_back() {
    let (rt, mut w, path) = (runtime(), small(), scratch("small.gguf"));
    let planned = w.info(WriteOptions::default()).unwrap();
    w.write(&path, WriteOptions::default()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), planned.n_bytes);
    let file = File::open(&rt, &path, Default::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(file.get("a.u8").unwrap().u64().unwrap(), 200);
    assert_eq!(file.get("a.i32").unwrap().i64().unwrap(), -7);
    assert_eq!(file.get("a.f32").unwrap().f64().unwrap(), 0.5);
    assert!(file.get("a.bool").unwrap().bool().unwrap());
    let array = file.get("a.array").unwrap();
    assert_eq!(
        (array.array_i64(0, 3).unwrap(), array.array_u64(2, 1).unwrap()),
        (vec![1, -2, 3], vec![3])
    );
    fails(array.array_u64(0, 3), Status::VALUE);
    fails(array.array_u64(0, usize::MAX), Status::MEMORY);
    let strings: Vec<_> = file.get("a.strings").unwrap().strings().collect();
    assert_eq!(strings, [&b"one"[..], b"", b"two\0"]);
    let nested = file.get("a.nested").unwrap().nested(1).unwrap();
    assert_eq!((nested.count(), nested.u64().unwrap()), (1, 1));
    assert_eq!(file.tensor("t1").unwrap().data().unwrap(), bytes_of(&numbers(64)));
    assert_eq!(file.tensor("t2").unwrap().data().unwrap()[63], 63);
}

#[test]
fn keys_are_renamed_and_taken_away() {
    let mut w = small();
    w.rename("a.u8", "b.u8").unwrap();
    w.unset("a.bool").unwrap();
    fails(w.unset("a.bool"), Status::NOT_FOUND);
    fails(w.rename("b.u8", "a.f32"), Status::DUPLICATE);
    fails(w.set_u64("a.u8", ValueType::U8, 256), Status::VALUE);
    fails(w.set_u64("", ValueType::U8, 1), Status::KEY);
    fails(w.set_value("x", ValueType::ARRAY, &[1]), Status::TRUNCATED);
    let rt = runtime();
    let t = Tensor::wrap(&rt, TensorType::F32, &[1], 0, vec![0; 4], "t0").unwrap();
    fails(w.add_tensor(&t, None), Status::DUPLICATE);
    fails(w.add_stream("s", TensorType::Q8_0, &[31], |_: u64, _: &mut [u8]| Ok(())), Status::SHAPE);
}

#[test]
fn a_copy_through_a_callback_has_the_same_tensors() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let mut w = Writer::new(&rt, WriterOptions::default()).unwrap();
    w.copy_meta(&file).unwrap();
    w.copy_tensors(&file).unwrap();
    let mut bytes = vec![];
    let mut keep = |part: u32, data: &[u8]| {
        assert_eq!(part, 0);
        bytes.extend_from_slice(data);
        Ok(())
    };
    w.write_stream(&mut keep, WriteOptions::default()).unwrap();
    let copy = File::open_memory(&rt, bytes, OpenOptions::default()).unwrap();
    for (a, b) in file.tensors().zip(copy.tensors()) {
        assert_eq!((a.name(), a.data()), (b.name(), b.data()));
    }
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let options = WriteOptions { progress: Some(&mut stop), ..Default::default() };
    fails(w.write(scratch("cancelled.gguf"), options), Status::CANCELLED);
    assert!(!scratch("cancelled.gguf").exists());
    let mut full = |_: u32, _: &[u8]| Err(std::io::ErrorKind::Other.into());
    fails(w.write_stream(&mut full, WriteOptions::default()), Status::IO);
    fails(w.write("/nowhere/x.gguf", WriteOptions::default()), Status::IO);
}
