//! A model quantized: planned, changed by a rule, cancelled, resumed, in shards; and edited.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, model_path, runtime, scratch};
use ggufx::{
    file_type_at, file_type_count, file_type_find, EditFlags, EditOptions, File, Imatrix,
    Quantizer, QuantizerFlags, QuantizerOptions, QuantizerReason, QuantizerRunFlags,
    QuantizerRunOptions, Status, TensorType, WriteOptions, Writer, WriterOptions,
};
use std::ops::ControlFlow;

const KEPT: TensorType = TensorType(ggufx::sys::GGUFX_QUANTIZER_DEFAULT_TYPE);

/// The types that a rule gives the tensors.
fn types_of(q: &Quantizer, rule: impl Fn(&[u8]) -> TensorType) -> Vec<TensorType> {
    q.tensors().map(|t| rule(t.name)).collect()
}
pub fn plan() -> Quantizer {
    let rt = runtime();
    let recipe = file_type_find("q4_0").unwrap();
    let options =
        QuantizerOptions { flags: QuantizerFlags::ALLOW_REQUANTIZE, ..Default::default() };
    let mut q = Quantizer::new(&rt, &demo(&rt), recipe, options).unwrap();
    let up = |name: &[u8]| name.ends_with(b"ffn_up.weight");
    let types = types_of(&q, |name| if up(name) { TensorType::Q5_1 } else { KEPT });
    q.override_types(&types).unwrap();
    q
}

#[test]
fn recipes_are_listed() {
    let all: Vec<_> = (0..file_type_count()).map(|i| file_type_at(i).unwrap()).collect();
    assert!(all.len() > 20);
    let id = file_type_find("Q4_K").unwrap();
    let q4 = all.iter().find(|t| t.file_type == id).unwrap();
    assert_eq!((q4.name, id, q4.type_), ("Q4_K_M", 15, TensorType::Q4_K));
    fails(file_type_find("Q4_Q"), Status::NOT_FOUND);
    fails(file_type_at(all.len()), Status::ARGUMENT);
}

#[test]
fn a_plan_is_changed_by_a_rule_and_measured() {
    needs_model!();
    let mut q = plan();
    let info = q.info().unwrap();
    assert_eq!(q.tensors().count() as u64, info.n_tensors);
    assert!(info.bytes_out < info.bytes_in);
    let chosen: Vec<_> = q.tensors().filter(|t| t.reason == QuantizerReason::OVERRIDE).collect();
    assert!(!chosen.is_empty() && chosen.iter().all(|t| t.to == TensorType::Q5_1));
    let norm = q.tensors().find(|t| t.name == b"output_norm.weight").unwrap();
    assert_eq!((norm.reason, norm.from), (QuantizerReason::KEPT, norm.to));
    let at = q.tensors().position(|t| t.reason == QuantizerReason::OVERRIDE).unwrap();
    let coarse = q.tensor_error(at, TensorType::Q4_0, 4096, None).unwrap();
    let fine = q.tensor_error(at, TensorType::Q8_0, 4096, None).unwrap();
    assert!(fine < coarse / 4.0, "{} {}", fine, coarse);
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    fails(q.tensor_error(at, TensorType::Q4_0, 0, Some(&mut stop)), Status::CANCELLED);
    fails(q.tensor_at(info.n_tensors as usize), Status::ARGUMENT);
    fails(q.override_types(&types_of(&q, |_| TensorType::Q8_K)), Status::UNSUPPORTED);
    let kept = q.tensors().filter(|t| t.reason == QuantizerReason::OVERRIDE).count();
    assert_eq!(kept, chosen_count(&q)); // a rule that fails leaves the plan
}

fn chosen_count(q: &Quantizer) -> usize {
    q.tensors().filter(|t| t.to == TensorType::Q5_1).count()
}

#[test]
fn a_cancelled_run_is_resumed_and_finished() {
    needs_model!();
    let (whole, path) = (scratch("job-whole.gguf"), scratch("job-resumed.gguf"));
    plan().run(&whole, QuantizerRunOptions::default()).unwrap();
    let mut q = plan();
    let (mut seen, mut again) = (vec![], vec![]);
    let done = std::cell::Cell::new(0);
    let mut stop_later = |_: u64, _: u64| match done.get() {
        0..=3 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let mut note = |i: usize, t: &ggufx::QuantizerTensorFacts<'_>| {
        seen.push((i, t.name.to_vec()));
        done.set(done.get() + 1);
        ControlFlow::Continue(())
    };
    let options = QuantizerRunOptions {
        flags: QuantizerRunFlags::KEEP,
        progress: Some(&mut stop_later),
        tensor_done: Some(&mut note),
        ..Default::default()
    };
    fails(q.run(&path, options), Status::CANCELLED);
    assert!(!path.exists() && seen.len() >= 4);
    let mut note = |i: usize, t: &ggufx::QuantizerTensorFacts<'_>| {
        again.push((i, t.name.to_vec()));
        ControlFlow::Continue(())
    };
    let options = QuantizerRunOptions {
        flags: QuantizerRunFlags::RESUME | QuantizerRunFlags::MEASURE,
        tensor_done: Some(&mut note),
        ..Default::default()
    };
    q.run(&path, options).unwrap();
    assert!(std::fs::read(&whole).unwrap() == std::fs::read(&path).unwrap());
    assert!(again.iter().any(|t| !seen.contains(t)) && again.len() < q.tensors().count());
    assert!(q.tensors().any(|t| t.rmse > 0.0));
    std::fs::remove_file(&whole).unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_panic_in_a_run_comes_out_of_it() {
    needs_model!();
    let path = scratch("job-panic.gguf");
    let caught = std::panic::catch_unwind(|| {
        let mut done = |_: usize, _: &ggufx::QuantizerTensorFacts<'_>| -> ControlFlow<()> {
            panic!("seen enough")
        };
        plan()
            .run(&path, QuantizerRunOptions { tensor_done: Some(&mut done), ..Default::default() })
    });
    assert_eq!(*caught.unwrap_err().downcast_ref::<&str>().unwrap(), "seen enough");
    let _ = std::fs::remove_file(&path);
}

fn in_place() -> EditOptions<'static> {
    EditOptions { flags: EditFlags::IN_PLACE, ..Default::default() }
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
    let file = File::open(&rt, &path, Default::default()).unwrap();
    let mut w = Writer::new(&rt, WriterOptions::default()).unwrap();
    w.copy_meta(&file).unwrap();
    w.copy_tensors(&file).unwrap();
    w.set_string("general.name", "edited").unwrap();
    assert!(w.edit_info(&file, EditOptions::default()).unwrap().in_place);
    let info = w.edit(&file, &path, in_place()).unwrap();
    assert!(info.in_place && info.n_written < info.n_bytes / 10);
    w.set_string("general.name", vec![b'x'; 100000]).unwrap();
    fails(w.edit(&file, &path, in_place()), Status::CAPACITY);
    assert!(!rt.file_recover_edit(&path).unwrap());
    let file = File::open(&rt, &path, Default::default()).unwrap();
    assert_eq!(file.get("general.name").unwrap().str().unwrap(), "edited");
    fails(rt.file_recover_edit(model_path() + ".absent"), Status::NOT_FOUND);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_imatrix_and_its_name_go_into_a_plan() {
    needs_model!();
    let (rt, path) = (runtime(), scratch("named.gguf"));
    let imatrix = Imatrix::open_memory(&rt, &crate::imatrix::old()).unwrap();
    let options = QuantizerOptions {
        flags: QuantizerFlags::ALLOW_REQUANTIZE | QuantizerFlags::EMBEDDING_TYPE,
        embedding_type: TensorType::Q5_0,
        imatrix: Some(&imatrix),
        imatrix_name: Some("calibration.dat"),
        ..Default::default()
    };
    let recipe = file_type_find("q4_0").unwrap();
    let mut q = Quantizer::new(&rt, &demo(&rt), recipe, options).unwrap();
    let embedding = q.tensors().find(|t| t.name == b"token_embd.weight").unwrap();
    assert_eq!(embedding.to, TensorType::Q5_0);
    q.run(&path, QuantizerRunOptions::default()).unwrap();
    let written = File::open(&rt, &path, Default::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let key = written.get("quantize.imatrix.file").unwrap();
    assert_eq!(key.str().unwrap(), "calibration.dat");
}
