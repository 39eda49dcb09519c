//! Every call with a progress hook: the hook runs, can end the call, and is released.
// SPDX-License-Identifier: MIT
use crate::{demo, jobs::plan, kv::filled, model_path, numbers, runtime, scratch};
use ggufx::{
    quantize_blocks, AttendOptions, BatchFlags, BatchItem, BatchOptions, DecodeOptions, EditFlags,
    EditOptions, File, Imatrix, ImatrixFormat, IoMode, JobRunOptions, KvType, MatmulOptions, Model,
    OpenOptions, Progress, QuantizeOptions, Result, Session, SessionOptions, Status, Tensor,
    TensorType, ValidateFlags, WriteOptions, Writer, WriterOptions,
};
use std::ops::ControlFlow;
use std::os::unix::io::AsRawFd;

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
fn products_and_encodings() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let w = file.tensor("blk.0.attn_q.weight").unwrap();
    let (x, mut y, mut z) = (numbers(512), vec![0.0; 512], vec![0.0; 256]);
    let q8 = TensorType::Q8_0;
    let blocks = quantize_blocks(&rt, q8, &x, 256, QuantizeOptions::default()).unwrap();
    let experts = Tensor::wrap(&rt, q8, &[256, 1, 2], 0, blocks, "experts").unwrap();
    fn with<'a>(p: &'a mut Progress<'a>) -> MatmulOptions<'a> {
        MatmulOptions { progress: Some(p), ..Default::default() }
    }
    let one = &x[..256];
    follow("matvec", |p| rt.matvec(&mut z, &w, one, with(p)));
    follow("matmul", |p| rt.matmul(&mut y, 0, &w, &x, 0, 2, with(p)));
    follow("matvec_many", |p| {
        rt.matvec_many(&mut [&mut z, &mut y[..256]], &[&w, &w], one, with(p))
    });
    follow("matmul_id", |p| rt.matmul_id(&mut y[..2], 0, &experts, &[0, 1], 2, one, 0, 1, with(p)));
    follow("quantize_blocks", |p| {
        let options = QuantizeOptions { progress: Some(p), ..Default::default() };
        quantize_blocks(&rt, q8, &x, 256, options).map(drop)
    });
}

#[test]
fn caches_and_sessions() {
    needs_model!();
    let rt = runtime();
    let (mut kv, q, mut out) = (filled(130), numbers(128), vec![0.0; 128]);
    let mut holes = filled(130);
    holes.remove(0, 10, 60).unwrap();
    holes.remove(0, 70, 120).unwrap();
    fn with<'a>(p: &'a mut Progress<'a>) -> AttendOptions<'a> {
        AttendOptions { progress: Some(p), ..Default::default() }
    }
    follow("attend", |p| kv.attend(&mut out, None, 0, 0, &q, 1, None, with(p)));
    follow("attend_batch", |p| kv.attend_batch(&mut out, None, 0, &[0], &q, None, with(p)));
    follow("compact", |p| holes.compact(0, Some(p)));
    let q8 = KvType::Q8_0;
    follow("requantize", |p| kv.requantize(ggufx::ALL_LAYERS, q8, q8, Some(p)));
    let model = Model::new(&rt, &demo(&rt), Default::default()).unwrap();
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    follow("decode", |p| {
        session.decode_with(&[1], DecodeOptions { progress: Some(p), ..Default::default() }, None)
    });
    let item = [BatchItem::new(0, &[1], BatchFlags::NONE)];
    follow("decode_batch", |p| {
        let options = BatchOptions { progress: Some(p), ..Default::default() };
        session.decode_batch(&item, options)
    });
}

#[test]
fn files() {
    needs_model!();
    let rt = runtime();
    let (file, bytes) = (demo(&rt), std::fs::read(model_path()).unwrap());
    let fd = std::fs::File::open(model_path()).unwrap();
    fn with<'a>(p: &'a mut Progress<'a>) -> OpenOptions<'a> {
        OpenOptions { io: IoMode::READ, progress: Some(p), ..Default::default() }
    }
    let n = bytes.len() as u64;
    follow("open", |p| File::open(&rt, model_path(), with(p)).map(drop));
    follow("open_fd", |p| File::open_fd(&rt, fd.as_raw_fd(), 0, n, with(p)).map(drop));
    follow("open_memory", |p| File::open_memory(&rt, bytes.clone(), with(p)).map(drop));
    follow("open_io", |p| File::open_io(&rt, fd.try_clone().unwrap(), with(p)).map(drop));
    follow("validate", |p| {
        file.validate(ValidateFlags::DEEP, &mut |_| ControlFlow::Continue(()), Some(p))
    });
    let path = scratch("followed.imatrix");
    let m = Imatrix::open_memory(&rt, &crate::imatrix::old()).unwrap();
    follow("imatrix write", |p| m.write(&path, ImatrixFormat::GGUF, Some(p)));
    follow("imatrix open", |p| Imatrix::open(&rt, &path, Some(p)).map(drop));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn writers_and_jobs() {
    needs_model!();
    let (rt, path) = (runtime(), scratch("followed.gguf"));
    fn with<'a>(p: &'a mut Progress<'a>) -> WriteOptions<'a> {
        WriteOptions { progress: Some(p), ..Default::default() }
    }
    let copy = |of: &File, reserve_bytes| {
        let mut w =
            Writer::new(&rt, WriterOptions { reserve_bytes, ..Default::default() }).unwrap();
        w.copy_meta(of).unwrap();
        w.copy_tensors(of).unwrap();
        w
    };
    let mut w = copy(&demo(&rt), 4096);
    follow("write", |p| w.write(&path, with(p)));
    follow("write_to", |p| w.write_stream(&mut |_, _| Ok(()), with(p)));
    let file = File::open(&rt, &path, Default::default()).unwrap();
    let mut w = copy(&file, 0);
    w.set_string("general.name", "edited").unwrap();
    fn edit<'a>(p: &'a mut Progress<'a>) -> EditOptions<'a> {
        EditOptions { flags: EditFlags::IN_PLACE, progress: Some(p) }
    }
    follow("edit", |p| w.edit_write(&file, &path, edit(p)).map(drop));
    let mut job = plan();
    follow("measure", |p| job.measure(0, TensorType::Q4_0, 0, Some(p)).map(drop));
    follow("run", |p| job.run(&path, JobRunOptions { progress: Some(p), ..Default::default() }));
    plan().run(&path, JobRunOptions { shard: 1, n_shards: 1, ..Default::default() }).unwrap();
    follow("finish", |p| plan().finish(&path, Some(p)));
    std::fs::remove_file(&path).unwrap();
}
