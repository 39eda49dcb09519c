//! A model quantized: planned, changed by a rule, cancelled, resumed, in shards; and edited.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, model_path, runtime, scratch};
use ggufx::{
    recover_edit, EditFlags, File, FileType, JobFlags, JobReason, JobRunFlags, Model, Quantizer,
    QuantizerOptions, RunOptions, Status, TensorType, WriteOptions, Writer, WriterOptions,
};
use std::ops::ControlFlow;

pub fn plan() -> Quantizer {
    let rt = runtime();
    let recipe = FileType::from_name("q4_0").unwrap();
    let options = QuantizerOptions { flags: JobFlags::ALLOW_REQUANTIZE, ..Default::default() };
    let mut q = Quantizer::new(&rt, &demo(&rt), recipe, options).unwrap();
    q.choose(|t| t.name.ends_with(b"ffn_up.weight").then(|| TensorType::Q5_1)).unwrap();
    q
}

#[test]
fn recipes_are_listed() {
    let all: Vec<_> = FileType::all().collect();
    assert!(all.len() > 20);
    let q4 = FileType::from_name("Q4_K").unwrap();
    assert_eq!((q4.name, q4.id, q4.kind), ("Q4_K_M", 15, TensorType::Q4_K));
    assert!(all.contains(&q4));
    fails(FileType::from_name("Q4_Q"), Status::NOT_FOUND);
}

#[test]
fn a_plan_is_changed_by_a_rule_and_measured() {
    needs_model!();
    let mut q = plan();
    let info = q.info().unwrap();
    assert_eq!(q.tensors().count() as u64, info.n_tensors);
    assert!(info.bytes_out < info.bytes_in);
    let chosen: Vec<_> = q.tensors().filter(|t| t.reason == JobReason::CHOSEN).collect();
    assert!(!chosen.is_empty() && chosen.iter().all(|t| t.to == TensorType::Q5_1));
    let norm = q.tensors().find(|t| t.name == b"output_norm.weight").unwrap();
    assert_eq!((norm.reason, norm.from), (JobReason::KEPT, norm.to));
    let at = q.tensors().position(|t| t.reason == JobReason::CHOSEN).unwrap();
    let coarse = q.measure(at, TensorType::Q4_0, 4096, None).unwrap();
    let fine = q.measure(at, TensorType::Q8_0, 4096, None).unwrap();
    assert!(fine < coarse / 4.0, "{} {}", fine, coarse);
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    fails(q.measure(at, TensorType::Q4_0, 0, Some(&mut stop)), Status::CANCELLED);
    fails(q.tensor(info.n_tensors as usize), Status::ARGUMENT);
    fails(q.choose(|_| Some(TensorType::Q8_K)), Status::UNSUPPORTED);
    let kept = q.tensors().filter(|t| t.reason == JobReason::CHOSEN).count();
    assert_eq!(kept, chosen_count(&q)); // a rule that fails leaves the plan
}

fn chosen_count(q: &Quantizer) -> usize {
    q.tensors().filter(|t| t.to == TensorType::Q5_1).count()
}

#[test]
fn a_cancelled_run_is_resumed_and_finished() {
    needs_model!();
    let (whole, path) = (scratch("job-whole.gguf"), scratch("job-resumed.gguf"));
    plan().run(&whole, RunOptions::default()).unwrap();
    let mut q = plan();
    let (mut seen, mut again) = (vec![], vec![]);
    let done = std::cell::Cell::new(0);
    let mut stop_later = |_: u64, _: u64| match done.get() {
        0..=3 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let mut note = |i: usize, t: &ggufx::PlannedTensor<'_>| {
        seen.push((i, t.name.to_vec()));
        done.set(done.get() + 1);
    };
    let options = RunOptions {
        flags: JobRunFlags::KEEP,
        progress: Some(&mut stop_later),
        tensor_done: Some(&mut note),
        ..Default::default()
    };
    fails(q.run(&path, options), Status::CANCELLED);
    assert!(!path.exists() && seen.len() >= 4);
    let mut note = |i: usize, t: &ggufx::PlannedTensor<'_>| again.push((i, t.name.to_vec()));
    let options = RunOptions {
        flags: JobRunFlags::RESUME | JobRunFlags::MEASURE,
        tensor_done: Some(&mut note),
        ..Default::default()
    };
    q.run(&path, options).unwrap();
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&path).unwrap());
    assert!(again.iter().any(|t| !seen.contains(t)) && again.len() < q.tensors().count());
    assert!(q.tensors().any(|t| t.rmse().map_or(false, |rmse| rmse > 0.0)));
    std::fs::remove_file(&whole).unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn shards_make_one_file() {
    needs_model!();
    let path = scratch("job-shards.gguf");
    fails(plan().finish(&path, None), Status::NOT_FOUND);
    for shard in 1..=2 {
        let options = RunOptions { shard: Some((shard, 2)), ..Default::default() };
        plan().run(&path, options).unwrap();
        if shard == 1 {
            fails(plan().finish(&path, None), Status::STATE);
        }
    }
    plan().finish(&path, None).unwrap();
    let rt = runtime();
    let file = File::open(&rt, &path).unwrap();
    assert_eq!(file.get("general.file_type").unwrap().u64().unwrap(), 2);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_panic_in_a_run_comes_out_of_it() {
    needs_model!();
    let path = scratch("job-panic.gguf");
    let caught = std::panic::catch_unwind(|| {
        let mut done = |_: usize, _: &ggufx::PlannedTensor<'_>| panic!("seen enough");
        plan().run(&path, RunOptions { tensor_done: Some(&mut done), ..Default::default() })
    });
    assert_eq!(*caught.unwrap_err().downcast_ref::<&str>().unwrap(), "seen enough");
    let _ = std::fs::remove_file(&path);
}

#[test]
fn a_rank_has_a_file_of_its_own() {
    needs_model!();
    let (rt, path) = (runtime(), scratch("rank.gguf"));
    let mut w = Writer::new(&rt, WriterOptions::default()).unwrap();
    w.copy_rank(&demo(&rt), 1, 2, Some(&[3, 1]), false).unwrap();
    w.write(&path, WriteOptions::default()).unwrap();
    let file = File::open(&rt, &path).unwrap();
    fails(Model::new(&rt, &file), Status::MISMATCH);
    fails(w.copy_rank(&file, 1, 2, Some(&[3, 1]), false), Status::UNSUPPORTED);
    fails(w.copy_rank(&demo(&rt), 2, 2, None, true), Status::ARGUMENT);
    fails(w.copy_rank(&demo(&rt), 0, 3, Some(&[3, 1]), false), Status::ARGUMENT);
    let mut layers = Writer::new(&rt, WriterOptions::default()).unwrap();
    layers.copy_rank(&demo(&rt), 1, 2, None, true).unwrap();
    layers.write(&path, WriteOptions::default()).unwrap();
    let file = File::open(&rt, &path).unwrap();
    assert_eq!(file.tensors().count(), 38);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn keys_are_edited_in_place() {
    needs_model!();
    let (rt, path) = (runtime(), scratch("edited.gguf"));
    let roomy = WriterOptions { reserve_bytes: 4096, ..Default::default() };
    let mut w = Writer::new(&rt, roomy).unwrap();
    w.copy_meta(&demo(&rt)).unwrap();
    w.copy_tensors(&demo(&rt)).unwrap();
    w.write(&path, WriteOptions::default()).unwrap();
    let file = File::open(&rt, &path).unwrap();
    let mut w = Writer::new(&rt, WriterOptions::default()).unwrap();
    w.copy_meta(&file).unwrap();
    w.copy_tensors(&file).unwrap();
    w.set_str("general.name", "edited").unwrap();
    assert_eq!(w.edit_info(&file, EditFlags::default()).unwrap().in_place, 1);
    let info = w.edit(&file, &path, EditFlags::IN_PLACE, None).unwrap();
    assert!(info.in_place == 1 && info.n_written < info.n_bytes / 10);
    w.set_str("general.name", vec![b'x'; 100000]).unwrap();
    fails(w.edit(&file, &path, EditFlags::IN_PLACE, None), Status::CAPACITY);
    assert!(!recover_edit(&rt, &path).unwrap());
    let file = File::open(&rt, &path).unwrap();
    assert_eq!(file.get("general.name").unwrap().str().unwrap(), "edited");
    fails(recover_edit(&rt, model_path() + ".absent"), Status::NOT_FOUND);
    std::fs::remove_file(&path).unwrap();
}
