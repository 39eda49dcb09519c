//! Tests each field of the options, so that none is missing or mapped to another one.
// SPDX-License-Identifier: MIT
use crate::kv::{attend, filled, options};
use crate::{demo, fails, model_path, numbers, runtime, scratch};
use ggufx::{
    file_type_from_name, AttendOptions, DecodeOptions, File, Imatrix, JobFlags, JobOptions,
    JobRunOptions, KvCache, KvFlags, KvLayer, KvOptions, KvType, MatmulFlags, Model, OpenOptions,
    Quantizer, Runtime, RuntimeOptions, Sampler, SamplerOptions, Session, SessionOptions, Status,
    TensorType, WindowKind, WriteOptions, Writer, WriterOptions,
};
use std::ops::ControlFlow;

fn near(a: &[f32], b: &[f32], limit: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < limit)
}

#[test]
fn of_attention() {
    let kv = filled(5);
    let gives = |options: AttendOptions<'_>, first: f32, last: f32| {
        let mut out = [0.0; 128]; // by the formulas of kv.h, in double
        kv.attend(&mut out, None, 0, 0, &numbers(128), 1, None, options).unwrap();
        assert!(near(&[out[0], out[127]], &[first, last], 1e-5), "{} {}", out[0], out[127]);
    };
    let no = AttendOptions::default;
    gives(no(), -0.907634, -0.748555);
    let chunks = AttendOptions { window: 2, window_kind: WindowKind::CHUNKED, ..no() };
    gives(chunks, numbers(320)[256], numbers(320)[319]); // only the token itself
    gives(AttendOptions { scale: 0.3, ..no() }, -0.926654, -0.763931);
    gives(AttendOptions { softcap: 0.5, ..no() }, -0.874823, -0.724180);
    gives(AttendOptions { window: 2, ..no() }, -0.795041, -0.638277);
    let slopes = &[0.1, 0.2, 0.3, 0.4];
    gives(AttendOptions { alibi_slopes: slopes, ..no() }, -0.897601, -0.703808);
    let sinks = &[0.5, 1.0, 1.5, 2.0];
    gives(AttendOptions { sink_logits: sinks, ..no() }, -0.845248, -0.536932);
}

#[test]
fn of_caches() {
    let rt = runtime();
    let new = |options: KvOptions<'_>| KvCache::new(&rt, options).unwrap();
    let turn = KvOptions { rope_dims: 8, rope_base: 100.0, rope_scale: 0.5, ..options() };
    let table = [0.5, 0.158113883, 0.05, 0.0158113883]; // the same
    let given = KvOptions { rope_dims: 8, rope_frequencies: &table, ..options() };
    let mut k = vec![0.0; 64];
    for mut turned in [new(turn), new(given)] {
        for layer in 0..2 {
            turned.append(layer, 0, 1, None, &numbers(64), Some(&numbers(64))).unwrap();
        }
        turned.shift(0, 0, 1, 1).unwrap();
        turned.read(Some(&mut k), None, 0, 0, 0, 1).unwrap();
        assert!(near(&k[..4], &[-1.307774, 0.335124, 0.702069, 0.856494], 1e-5), "{:?}", &k[..4]);
        assert_eq!(k[8..32], numbers(64)[8..32]);
    }
    for (n_sinks, token, kept) in [(8, 6, true), (ggufx::sys::GGUFX_KV_NO_SINKS, 2, false)] {
        let q8 = KvType::Q8_0;
        let mut kv = new(KvOptions { type_k: q8, type_v: q8, n_sinks, ..options() });
        kv.append(0, 0, 128, None, &numbers(128 * 64), Some(&numbers(128 * 64))).unwrap();
        kv.read(Some(&mut k), None, 0, 0, token, 1).unwrap();
        let exact = &numbers(7 * 64)[token as usize * 64..][..64];
        assert_eq!(near(&k, exact, 6e-4), kept); // those stay F16
    }
    let f32 = KvType::F32;
    let mut layers =
        [KvLayer { type_k: f32, type_v: f32, window: 2, ..Default::default() }, KvLayer::default()];
    let mut narrow = new(KvOptions { layers: &layers, ..options() });
    narrow.append(0, 0, 5, None, &numbers(320), Some(&numbers(320))).unwrap();
    assert!((attend(&narrow, 0)[0] + 0.795041).abs() < 1e-5);
    layers[0].window_kind = WindowKind::CHUNKED;
    let mut chunked = new(KvOptions { layers: &layers, ..options() });
    chunked.append(0, 0, 5, None, &numbers(320), Some(&numbers(320))).unwrap();
    assert!((attend(&chunked, 0)[0] - numbers(320)[256]).abs() < 1e-5);
    let mut slim = new(KvOptions { head_dim_v: 16, ..options() });
    slim.append(0, 0, 1, None, &numbers(64), Some(&numbers(32))).unwrap();
    let (mut out, no) = ([0.0; 64], AttendOptions::default());
    slim.attend(&mut out, None, 0, 0, &numbers(128), 1, None, no).unwrap();
    let in_k = KvOptions { flags: KvFlags::V_IN_K, head_dim_v: 16, ..options() };
    new(in_k).append(0, 0, 1, None, &numbers(64), None).unwrap();
    let mut bytes = vec![];
    new(KvOptions { model: 7, ..options() }).save(0, &mut bytes).unwrap();
    let mut other = new(KvOptions { model: 8, ..options() });
    fails(other.load(0, &mut &bytes[..]), Status::MISMATCH);
}

#[test]
fn of_sessions() {
    needs_model!();
    let rt = runtime();
    let model = Model::new(&rt, &demo(&rt), Default::default()).unwrap();
    let (ids, f32, no) = ([1, 300, 301, 302], KvType::F32, SessionOptions::default());
    let all = [
        no,
        SessionOptions { type_k: f32, ..no },
        SessionOptions { type_v: f32, ..no },
        SessionOptions { type_k: f32, type_v: f32, ..no },
        SessionOptions { matmul_flags: MatmulFlags::F32, ..no },
    ];
    let seen = all.map(|options| {
        let (mut session, mut logits) = (Session::new(&model, options).unwrap(), vec![0.0; 1024]);
        session.decode(&ids).unwrap();
        session.logits(&mut logits).unwrap();
        logits[5].to_bits()
    });
    assert_eq!(seen.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    let keeping = |n| SessionOptions { n_checkpoints: n, ..no };
    fails(Session::new(&model, keeping(4097)), Status::ARGUMENT);
    Session::new(&model, keeping(ggufx::sys::GGUFX_SESSION_NO_CHECKPOINTS)).unwrap();
    let mut session = Session::new(&model, SessionOptions { n_batch: 2, ..no }).unwrap();
    let mut calls = 0;
    let mut look = |view: &ggufx::AttentionView<'_>| {
        assert_eq!((view.n_tokens, view.first_token), (2, 2 * (calls / 4)));
        calls += 1;
        ControlFlow::Continue(())
    };
    session.decode_with(&ids, DecodeOptions::default(), Some(&mut look)).unwrap();
    assert_eq!(calls, 8);
}

#[test]
fn of_samplers() {
    let rt = runtime();
    let draws = |options: SamplerOptions| -> Vec<i32> {
        let options = SamplerOptions { temperature: 100.0, ..options };
        let mut sampler = Sampler::new(&rt, 4, options).unwrap();
        (0..30).map(|_| sampler.sample(&[0.0, 1.0, 2.0, 3.0]).unwrap().0).collect()
    };
    let no = SamplerOptions::default();
    let one = |options| draws(options).iter().all(|id| *id == 3);
    assert!(one(SamplerOptions { top_k: 1, ..no }) && one(SamplerOptions { top_p: 0.01, ..no }));
    assert!(one(SamplerOptions { min_p: 0.9, ..no }) && one(SamplerOptions { top_p: 0.2, ..no }));
    // 0.37 of the likeliest one's.
    assert!(draws(SamplerOptions { min_p: 0.2, ..no }).contains(&2));
    let seeded = |seed| draws(SamplerOptions { seed, ..no });
    assert!(seeded(1) == seeded(1) && seeded(1) != seeded(2));
}

#[test]
fn of_plans() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let recipe = file_type_from_name("q4_0").unwrap();
    let no = JobOptions { flags: JobFlags::ALLOW_REQUANTIZE, ..Default::default() };
    let planned = |options| Quantizer::quantize(&rt, &file, recipe, options).unwrap();
    let embedding =
        |options| planned(options).tensors().find(|t| t.name == b"token_embd.weight").unwrap().to;
    let (one, other) = (TensorType::Q5_0, TensorType::Q5_1);
    assert_eq!(
        embedding(JobOptions {
            flags: no.flags | JobFlags::EMBEDDING_TYPE,
            embedding_type: one,
            ..no
        }),
        one
    );
    // It is the output, too.
    assert_eq!(
        embedding(JobOptions { flags: no.flags | JobFlags::OUTPUT_TYPE, output_type: other, ..no }),
        other
    );
    let bytes = |options| planned(options).info().unwrap().file_bytes;
    let more = bytes(JobOptions { reserve_bytes: 65536, ..no }) - bytes(no);
    assert!((65536..65536 + 200).contains(&more), "{}", more);
    let imatrix = Imatrix::open_memory(&rt, &crate::imatrix::old()).unwrap();
    let weighed =
        JobOptions { imatrix: Some(&imatrix), imatrix_name: Some("calibration.dat"), ..no };
    let (mut job, path) = (planned(weighed), scratch("options.gguf"));
    assert!(job.info().unwrap().n_missing > 0);
    job.run(&path, JobRunOptions::default()).unwrap();
    let written = File::open(&rt, &path, Default::default()).unwrap();
    let key = written.get("quantize.imatrix.file").unwrap();
    assert_eq!(key.str().unwrap(), "calibration.dat");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn of_opens() {
    needs_model!();
    let rt = runtime();
    let open = |o: OpenOptions<'_>| File::open(&rt, model_path(), o);
    let no = OpenOptions::default;
    for o in [
        OpenOptions { max_metadata_bytes: 1000, ..no() },
        OpenOptions { max_keys: 32, ..no() },
        OpenOptions { max_tensors: 37, ..no() },
        OpenOptions { max_string_bytes: 10, ..no() },
    ] {
        fails(open(o), Status::LIMIT);
    }
    open(OpenOptions { max_keys: 33, max_tensors: 38, max_string_bytes: 4096, ..no() }).unwrap();
}

#[test]
fn of_files_and_runtimes() {
    needs_model!();
    let rt = Runtime::with(
        RuntimeOptions { threads: 3, workspace_bytes: 3 << 20, ..Default::default() },
        Default::default(),
    )
    .unwrap();
    let info = rt.info().unwrap();
    assert_eq!((info.threads, info.workspace_bytes), (3, 3 << 20));
    let small = OpenOptions { max_metadata_bytes: 1000, ..Default::default() };
    fails(File::open(&rt, model_path(), small), Status::LIMIT);
    let file = demo(&rt);
    let mut w = Writer::new(&rt, WriterOptions { version: 2, ..Default::default() }).unwrap();
    w.copy_meta(&file).unwrap();
    w.copy_tensors(&file).unwrap();
    let parts = |options| w.info(options).unwrap().n_parts;
    assert_eq!(parts(WriteOptions::default()), 1);
    assert_eq!(parts(WriteOptions { max_part_tensors: 2, ..Default::default() }), 19);
    assert!(parts(WriteOptions { max_part_bytes: 1 << 20, ..Default::default() }) > 2);
    let mut data = vec![];
    let mut collect = |_: u32, bytes: &[u8]| {
        data.extend_from_slice(bytes);
        Ok(())
    };
    w.write_stream(&mut collect, WriteOptions::default()).unwrap();
    let again = File::open_memory(&rt, data, OpenOptions::default()).unwrap();
    assert_eq!(again.info().unwrap().version, 2);
}
