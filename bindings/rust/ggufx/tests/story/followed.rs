//! Progress is given to a call itself, in options, or beside another callback: it runs, and can end the call.
// SPDX-License-Identifier: MIT
use crate::flat::quantize_blocks;
use crate::{demo, jobs::plan, kv::filled, model_path, numbers, runtime, scratch};
use ggufx::{
    File, Imatrix, ImatrixFormat, IoMode, MatmulOptions, OpenOptions, Progress, QuantizeArgs,
    QuantizerRunOptions, Result, Status, TensorType, ValidateFlags, WriteOptions, Writer,
    WriterOptions,
};
use std::ops::ControlFlow;

/// Cancelled once with nothing done, then carried through with a progress that does not go back.
fn follow(what: &str, mut call: impl for<'a> FnMut(&'a mut Progress<'a>) -> Result<()>) {
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let error = call(&mut stop).expect_err(what);
    assert_eq!(error.status(), Status::CANCELLED, "{}: {}", what, error);
    let (mut n, mut last, mut of) = (0, 0, 0);
    let mut look = |done: u64, total: u64| {
        let on = done >= last || total != of; // or another stage
        assert!(on && (total == 0 || done <= total), "{}: {} {}", what, done, total);
        (n, last, of) = (n + 1, done, total);
        ControlFlow::Continue(())
    };
    call(&mut look).expect(what);
    assert!(n > 0, "{}", what);
}

#[test]
fn progress_of_a_call() {
    needs_model!();
    let (rt, mut holes, path) = (runtime(), filled(130), scratch("followed.imatrix"));
    holes.remove(0, 10, 50).unwrap();
    holes.remove(0, 20, 50).unwrap();
    follow("compact", |p| holes.compact(0, Some(p)));
    let m = Imatrix::open_memory(&rt, &crate::imatrix::old()).unwrap();
    follow("write", |p| m.write(&path, ImatrixFormat::GGUF, Some(p)));
    follow("open", |p| Imatrix::open(&rt, &path, Some(p)).map(drop));
    std::fs::remove_file(&path).unwrap();
    follow("measure", |p| plan().tensor_error(0, TensorType::Q4_0, 0, Some(p)).map(drop));
}

#[test]
fn progress_in_options() {
    needs_model!();
    let rt = runtime();
    let (file, x, mut y) = (demo(&rt), numbers(256), vec![0.0; 256]);
    let w = file.tensor("blk.0.attn_q.weight").unwrap();
    follow("matvec", |p| {
        rt.matvec(&mut y, &w, &x, MatmulOptions { progress: Some(p), ..Default::default() })
    });
    follow("quantize", |p| {
        let options = QuantizeArgs { progress: Some(p), ..Default::default() };
        quantize_blocks(&rt, TensorType::Q8_0, &x, 256, options).map(drop)
    });
    fn with<'a>(p: &'a mut Progress<'a>) -> OpenOptions<'a> {
        OpenOptions { io: IoMode::READ, progress: Some(p), ..Default::default() }
    }
    let bytes = std::fs::read(model_path()).unwrap();
    follow("open", |p| File::open(&rt, model_path(), with(p)).map(drop));
    follow("open_memory", |p| File::open_memory(&rt, bytes.clone(), with(p)).map(drop));
    let path = scratch("followed.gguf");
    let mut job = plan();
    follow("run", |p| {
        job.run(&path, QuantizerRunOptions { progress: Some(p), ..Default::default() })
    });
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn progress_beside_a_callback() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    follow("validate", |p| {
        file.validate(ValidateFlags::DEEP, &mut |_| ControlFlow::Continue(()), Some(p))
    });
    let mut w = Writer::new(&rt, WriterOptions::default()).unwrap();
    w.copy_tensors(&file).unwrap();
    follow("write_stream", |p| {
        let options = WriteOptions { progress: Some(p), ..Default::default() };
        w.write_stream(&mut |_, _| Ok(()), options)
    });
}
