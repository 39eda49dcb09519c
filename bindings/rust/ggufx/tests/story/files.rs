//! All ways to open a file, metadata, tensors and errors.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, model_path, runtime, scratch};
use ggufx::{File, IoMode, ValueType, OpenFlags, OpenOptions, ReadAt, Status, ValidateFlags};
use std::ops::ControlFlow;
use std::os::unix::io::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

#[test]
fn metadata_of_the_demo_model() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    assert_eq!(file.get("general.architecture").unwrap().str().unwrap(), "llama");
    assert_eq!(file.get("llama.context_length").unwrap().u64().unwrap(), 512);
    assert_eq!(file.get("llama.context_length").unwrap().i64().unwrap(), 512);
    assert_eq!(file.get("llama.rope.freq_base").unwrap().f64().unwrap(), 10000.0);
    let tokens = file.get("tokenizer.ggml.tokens").unwrap();
    assert_eq!((tokens.kind(), tokens.element_kind()), (ValueType::ARRAY, Some(ValueType::STRING)));
    assert_eq!(tokens.strings().take(3).collect::<Vec<_>>(), [&b"<unk>"[..], b"<s>", b"</s>"]);
    assert_eq!(tokens.strings().count(), 1024);
    let scores = file.get("tokenizer.ggml.scores").unwrap().array_f64(1020, 4).unwrap();
    assert!(scores.iter().all(|s| *s < 0.0));
    let keys: Vec<&str> = file.meta().map(|m| m.key()).collect();
    assert_eq!((keys.len(), file.meta().len()), (33, 33));
    assert_eq!(file.info().unwrap().n_tensors, 38);
    assert_eq!(file.get(keys[5]).unwrap().index(), 5);
}

#[test]
fn tensors_of_the_demo_model() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let names: Vec<String> = file.tensors().map(|t| t.name().to_string()).collect();
    assert_eq!(names.len(), 38);
    let w = file.tensor("token_embd.weight").unwrap();
    let info = w.info().unwrap();
    assert_eq!((info.type_, info.ne), (ggufx::TensorType::Q8_0, [256, 1024, 1, 1]));
    assert_eq!(w.data().unwrap().len() as u64, info.n_bytes);
    let part = w.slice(1, 3, 2).unwrap();
    assert_eq!(part.data().unwrap(), &w.data().unwrap()[3 * 272..5 * 272]);
    drop(w);
    drop(file);
    assert_eq!(part.info().unwrap().n_rows, 2); // the slice keeps the file alive
}

struct Counting(Vec<u8>, Arc<AtomicUsize>);
impl ReadAt for Counting {
    fn size(&mut self) -> std::io::Result<u64> {
        Ok(self.0.len() as u64)
    }
    fn read_exact_at(&mut self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        let at = offset as usize;
        buffer.copy_from_slice(&self.0[at..at + buffer.len()]);
        Ok(())
    }
}
impl Drop for Counting {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}
struct Panics;
impl ReadAt for Panics {
    fn size(&mut self) -> std::io::Result<u64> {
        Ok(4096)
    }
    fn read_exact_at(&mut self, _: &mut [u8], _: u64) -> std::io::Result<()> {
        panic!("reader")
    }
}

#[test]
fn every_source_gives_the_same() {
    needs_model!();
    let (rt, path) = (runtime(), model_path());
    let bytes = std::fs::read(&path).unwrap();
    let n = demo(&rt).info().unwrap().n_values;
    let read = OpenOptions { io: IoMode::READ, ..Default::default() };
    assert_eq!(File::open(&rt, &path, read).unwrap().info().unwrap().n_values, n);
    let archive = scratch("archive");
    std::fs::write(&archive, [&b"PAK!"[..], &[0; 4092], &bytes, b"tail"].concat()).unwrap();
    let fd = std::fs::File::open(&archive).unwrap();
    let inside =
        File::open_fd(&rt, fd.as_raw_fd(), 4096, bytes.len() as u64, OpenOptions::default())
            .unwrap();
    assert_eq!(inside.info().unwrap().n_values, n);
    std::fs::remove_file(&archive).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    let reader = Counting(bytes.clone(), dropped.clone());
    let by_reader = File::open_io(&rt, reader, OpenOptions::default()).unwrap();
    assert_eq!(by_reader.info().unwrap().n_values, n);
    drop(by_reader);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let std_file = std::fs::File::open(&path).unwrap();
    File::open_io(&rt, std_file, OpenOptions::default()).unwrap();
    let shared: Arc<[u8]> = bytes.into();
    let by_memory = File::open_memory(&rt, shared.clone(), OpenOptions::default()).unwrap();
    assert_eq!(Arc::strong_count(&shared), 2);
    let w = by_memory.tensor("token_embd.weight").unwrap().slice(1, 0, 1).unwrap();
    drop(by_memory);
    assert_eq!(Arc::strong_count(&shared), 2); // the slice needs the bytes
    drop(w);
    assert_eq!(Arc::strong_count(&shared), 1);
}

#[test]
fn what_goes_wrong_says_what_and_where() {
    needs_model!();
    let (rt, bytes) = (runtime(), std::fs::read(model_path()).unwrap());
    let error = fails(File::open(&rt, "/nowhere/x.gguf", Default::default()), Status::NOT_FOUND);
    assert!(error.message().contains("/nowhere/x.gguf") && error.system_error() != 0);
    assert!(error.to_string().starts_with("NOT_FOUND: "));
    fails(File::open(&rt, "a\0b", Default::default()), Status::ARGUMENT);
    let open = |b: &[u8]| File::open_memory(&rt, b.to_vec(), OpenOptions::default());
    fails(open(b"GGML1234567890123456789012345678"), Status::MAGIC);
    let cut = open(&bytes[..1000]);
    let error = fails(cut, Status::TRUNCATED);
    assert_eq!((error.offset(), error.index(), error.system_error()), (Some(1000), Some(20), 0));
    fails(File::open_io(&rt, Panics, OpenOptions::default()), Status::IO);
    let file = demo(&rt);
    fails(file.get("no.such.key"), Status::NOT_FOUND);
    fails(file.tensor("no.such.tensor"), Status::NOT_FOUND);
    fails(file.get("general.architecture").unwrap().u64(), Status::VALUE_TYPE);
    fails(file.get("tokenizer.ggml.tokens").unwrap().nested(0), Status::VALUE_TYPE);
    fails(file.get("tokenizer.ggml.tokens").unwrap().array_string(1024), Status::ARGUMENT);
    let only = OpenOptions { flags: OpenFlags::METADATA_ONLY, ..Default::default() };
    let file = File::open(&rt, model_path(), only).unwrap();
    assert!(file.tensor("token_embd.weight").unwrap().data().is_none());
}

#[test]
fn a_check_reports_and_can_be_stopped() {
    needs_model!();
    let rt = runtime();
    let mut bytes = std::fs::read(model_path()).unwrap();
    let at = demo(&rt).tensor("token_embd.weight").unwrap().info().unwrap().file_offset.unwrap();
    bytes[at as usize] = 0xff;
    bytes[at as usize + 1] = 0x7f; // the first scale becomes NaN
    let file = File::open_memory(&rt, bytes, OpenOptions::default()).unwrap();
    let mut said = vec![];
    file.validate(
        ValidateFlags::DEEP,
        &mut |finding| {
            said.push((finding.name.to_vec(), finding.text.to_string()));
            ControlFlow::Continue(())
        },
        None,
    )
    .unwrap();
    assert!(
        said.iter().any(|(name, _)| name == b"token_embd.weight"),
        "{:?}",
        said
    );
    let stopped = file.validate(ValidateFlags::DEEP, &mut |_| ControlFlow::Break(()), None);
    fails(stopped, Status::CANCELLED);
}

#[test]
fn a_thousand_opens_leave_nothing_behind() {
    needs_model!();
    let rt = runtime();
    let open = || {
        let file = demo(&rt);
        let slice = file.tensor("output_norm.weight").unwrap().slice(0, 0, 8).unwrap();
        assert_eq!(slice.info().unwrap().ne[0], 8);
    };
    // Mappings of the model and open files; other tests run beside, and have some of their own.
    let held = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let files = std::fs::read_dir("/proc/self/fd").map_or(0, |d| d.count());
        (maps.lines().filter(|line| line.ends_with(".gguf")).count(), files)
    };
    (0..1000).for_each(|_| open());
    let after = held();
    assert!(after.0 < 100 && after.1 < 100, "{:?} mappings and files", after);
}
