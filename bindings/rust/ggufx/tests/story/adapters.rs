//! LoRA adapters and control vectors, in files created by the test.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, numbers, runtime, scratch};
use ggufx::{
    Adapter, AdapterKind, AdapterOptions, AdapterUse, DecodeFlags, DecodeItem, EmbedOptions,
    Embedder, EstimateOptions, File, MatmulFlags, Model, Runtime, Session, SessionOptions, Status,
    Tensor, TensorType, WriteOptions, Writer, WriterOptions,
};

const IDS: [i32; 4] = [1, 300, 301, 302];
const TARGET: &str = "blk.0.attn_q.weight";
const WIDTH: usize = 256; // n_embedding of the demo model
const ROW: usize = 1024;

const ALL: u32 = ggufx::sys::GGUFX_ALL_SEQUENCES;

fn with(adapter: &Adapter, scale: f32) -> AdapterUse<'_> {
    AdapterUse { adapter, scale }
}

/// Text keys, and tensors of a shape with reproducible values.
fn made(rt: &Runtime, keys: &[(&str, &str)], tensors: &[(&str, &[u64])]) -> File {
    static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let mut w = Writer::new(rt, WriterOptions::default()).unwrap();
    keys.iter().for_each(|(key, value)| w.set_string(key, value).unwrap());
    for &(name, shape) in tensors {
        let values = numbers(shape.iter().product::<u64>() as usize);
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let t = Tensor::wrap(rt, TensorType::F32, shape, 0, data, name).unwrap();
        w.add_tensor(&t, None).unwrap();
    }
    let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = scratch(&format!("adapter-{number}.gguf"));
    w.write(&path, WriteOptions::default()).unwrap();
    let file = File::open(rt, &path, Default::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    file
}
fn lora_file(rt: &Runtime) -> File {
    let keys =
        [("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")];
    let (a, b) = (format!("{TARGET}.lora_a"), format!("{TARGET}.lora_b"));
    made(rt, &keys, &[(&a, &[WIDTH as u64, 2]), (&b, &[2, WIDTH as u64])])
}
pub fn control_vector(rt: &Runtime) -> File {
    let shape = [WIDTH as u64];
    made(
        rt,
        &[("general.architecture", "controlvector")],
        &[("direction.1", &shape), ("direction.2", &shape)],
    )
}

#[test]
fn sequences_have_their_own_adapters() {
    needs_model!();
    let rt = runtime();
    let model = Model::new(&rt, &demo(&rt), Default::default()).unwrap();
    let lora = Adapter::new(&model, &lora_file(&rt), AdapterOptions::default()).unwrap();
    let one = AdapterOptions { last_layer: 1, ..Default::default() };
    let control = Adapter::new(&model, &control_vector(&rt), one).unwrap();
    let (of_lora, of_control) = (lora.info().unwrap(), control.info().unwrap());
    assert_eq!((of_lora.kind, of_lora.n_targets, of_lora.rank), (AdapterKind::LORA, 1, 2));
    assert_eq!((of_control.kind, of_control.n_targets), (AdapterKind::CONTROL, 1));
    assert_ne!(of_lora.fingerprint, of_control.fingerprint);
    let matmul_flags = MatmulFlags::BATCH_INVARIANT;
    let options =
        SessionOptions { n_context: 16, n_sequences: 4, matmul_flags, ..Default::default() };
    let mut s = Session::new(&model, options).unwrap();
    s.set_adapters(1, &[with(&lora, 1.0)]).unwrap();
    s.set_adapters(2, &[with(&lora, 0.5), with(&control, 1.0)]).unwrap();
    let items = [0, 1, 2].map(|i| DecodeItem::new(i, &IDS, DecodeFlags::LOGITS));
    let rows = s.batch_logits(&items).unwrap();
    let (plain, own, both) = (&rows[..ROW], &rows[ROW..2 * ROW], &rows[2 * ROW..]);
    assert!(plain != own && own != both && plain != both);
    assert_eq!(fails(s.set_adapters(1, &[]), Status::STATE).index(), Some(1));
    fails(s.set_adapters(ALL, &[]), Status::STATE);
    fails(s.copy(1, 3, 2), Status::MISMATCH);
    s.set_adapters(3, &[with(&lora, 1.0)]).unwrap();
    s.copy(1, 3, 4).unwrap();
    drop(lora);
    s.truncate(1, 0).unwrap();
    assert_eq!(s.batch_logits(&items[1..2]).unwrap(), own);
    let mut other =
        Session::new(&Model::new(&rt, &demo(&rt), Default::default()).unwrap(), options).unwrap();
    assert_eq!(
        fails(other.set_adapters(ALL, &[with(&control, 1.0)]), Status::MISMATCH).index(),
        Some(0)
    );
}

#[test]
fn adapters_of_embedders_rows_and_estimates() {
    needs_model!();
    let rt = runtime();
    let (file, of) = (demo(&rt), lora_file(&rt));
    let model = Model::new(&rt, &file, Default::default()).unwrap();
    let lora = Adapter::new(&model, &of, AdapterOptions::default()).unwrap();
    let short = EmbedOptions { n_context: 8, ..Default::default() };
    let mut embedder = Embedder::new(&model, short).unwrap();
    let plain = embedder.embed_texts(&[&IDS]).unwrap();
    embedder.set_adapters(&[with(&lora, 1.0)]).unwrap();
    assert_ne!(embedder.embed_texts(&[&IDS]).unwrap(), plain);
    embedder.set_adapters(&[]).unwrap();
    assert_eq!(embedder.embed_texts(&[&IDS]).unwrap(), plain);
    let number = file.tensors().position(|t| t.name() == TARGET).unwrap();
    assert!(lora.has_tensor(number) && !lora.has_tensor(number + 1));
    let (mut rows, a) = (vec![0.0; 2 * WIDTH], numbers(2 * WIDTH));
    lora.add_rows(&mut rows, number, 5, 2, 0.5).unwrap();
    for (i, got) in rows.iter().enumerate() {
        let (r, c) = (5 + i / WIDTH, i % WIDTH);
        let want = 0.5 * (a[2 * r] * a[c] + a[2 * r + 1] * a[WIDTH + c]);
        assert!((got - want).abs() < 1e-6, "{i}: {got}, {want}");
    }
    fails(lora.add_rows(&mut rows, number, WIDTH as u64 - 1, 2, 1.0), Status::ARGUMENT);
    let without = rt.estimate(&file, EstimateOptions::default()).unwrap();
    let asked = EstimateOptions { adapters: &[&of], ..Default::default() };
    let with = rt.estimate(&file, asked).unwrap();
    assert!(with.adapter_bytes > lora.info().unwrap().memory_bytes);
    let added = with.adapter_bytes + with.adapter_file_bytes;
    assert_eq!(with.total_bytes, without.total_bytes + added);
}
