//! One object of each type is dropped while eight threads call all of them: the call that runs ends with
//! its result, and the last user frees the object. GGUFX_CLOSE_ROUNDS says how often.
// SPDX-License-Identifier: MIT
use crate::{adapters::control_vector, imatrix::old, kv::filled, model_path, numbers};
use ggufx::{
    Adapter, AdapterOptions, AttendOptions, DecodeFlags, DecodeItem, EmbedOptions, Embedder, File,
    Imatrix, KvCache, Model, Quantizer, QuantizerFlags, QuantizerOptions, Runtime, RuntimeOptions,
    Sampler, Session, SessionOptions, Tensor, TokenizeFlags, Tokenizer, Writer, WriterOptions,
};
use std::sync::{Arc, Mutex, RwLock};

/// Object that one thread drops while others use it.
struct Shared<T>(RwLock<Option<Arc<T>>>);
impl<T> Shared<T> {
    fn new(object: T) -> Self {
        Shared(RwLock::new(Some(Arc::new(object))))
    }
    fn close(&self) {
        *self.0.write().unwrap() = None;
    }
    /// Call it; false when it is gone.
    fn call(&self, run: impl FnOnce(&T)) -> bool {
        let object = self.0.read().unwrap().clone();
        object.map(|object| run(&object)).is_some()
    }
}

/// One of each, in a `Mutex` if it is not thread-safe.
struct Objects {
    rt: Shared<Runtime>,
    file: Shared<File>,
    part: Shared<Tensor<'static>>,
    model: Shared<Model>,
    tokenizer: Shared<Tokenizer>,
    session: Shared<Mutex<Session>>,
    embedder: Shared<Mutex<Embedder>>,
    sampler: Shared<Mutex<Sampler>>,
    kv: Shared<KvCache>,
    imatrix: Shared<Imatrix>,
    writer: Shared<Mutex<Writer>>,
    job: Shared<Quantizer>,
    adapter: Shared<Adapter>,
}

impl Objects {
    fn new() -> ggufx::Result<Self> {
        let one = RuntimeOptions { threads: 1, ..Default::default() };
        let rt = Runtime::with(one, Default::default())?;
        let file = File::open(&rt, model_path(), Default::default())?;
        let part = file.tensor("output_norm.weight")?.slice(0, 0, 8)?;
        let model = Model::new(&rt, &file, Default::default())?;
        let options =
            SessionOptions { n_context: 32, n_batch: 1, n_sequences: 2, ..Default::default() };
        let session = Session::new(&model, options)?;
        let small = EmbedOptions { n_context: 4, n_batch: 4, dimensions: 8, ..Default::default() };
        let plan =
            QuantizerOptions { flags: QuantizerFlags::ALLOW_REQUANTIZE, ..Default::default() };
        let job = Quantizer::new(&rt, &file, ggufx::file_type_find("q4_0")?, plan)?;
        let control = control_vector(&rt);
        let mut sampler = Sampler::new(&rt, 8, 0)?;
        sampler.add_top_k(1)?;
        Ok(Objects {
            adapter: Shared::new(Adapter::new(&model, &control, AdapterOptions::default())?),
            part: Shared::new(part),
            tokenizer: Shared::new(Tokenizer::new(&file)?),
            session: Shared::new(Mutex::new(session)),
            embedder: Shared::new(Mutex::new(Embedder::new(&model, small)?)),
            sampler: Shared::new(Mutex::new(sampler)),
            kv: Shared::new(filled(2)),
            imatrix: Shared::new(Imatrix::open_memory(&rt, &old())?),
            writer: Shared::new(Mutex::new(Writer::new(&rt, WriterOptions::default())?)),
            job: Shared::new(job),
            model: Shared::new(model),
            file: Shared::new(file),
            rt: Shared::new(rt),
        })
    }
    fn drop_one(&self, number: usize) {
        match number % 13 {
            0 => self.rt.close(),
            1 => self.file.close(),
            2 => self.part.close(),
            3 => self.model.close(),
            4 => self.tokenizer.close(),
            5 => self.session.close(),
            6 => self.sampler.close(),
            7 => self.kv.close(),
            8 => self.imatrix.close(),
            9 => self.writer.close(),
            10 => self.embedder.close(),
            11 => self.adapter.close(),
            _ => self.job.close(),
        }
    }
}

/// Calls everything until nothing is left.
fn wear(o: &Objects) {
    let (q, logits) = (numbers(128), [0.0, 1.0, 2.0, 9.0, 4.0, 5.0, 6.0, 7.0]);
    loop {
        let left = [
            o.rt.call(|rt| assert_eq!(rt.info().unwrap().threads, 1)),
            o.file.call(|file| {
                assert_eq!(file.get("general.architecture").unwrap().str().unwrap(), "llama");
                assert_eq!(file.tensor("output_norm.weight").unwrap().name(), "output_norm.weight");
            }),
            o.part.call(|part| assert_eq!(part.info().unwrap().ne[0], 8)),
            o.model.call(|model| assert_eq!(model.info().unwrap().n_vocab, 1024)),
            o.tokenizer.call(|t| {
                assert_eq!(t.token_info(2).unwrap().text, b"</s>");
                assert!(t.tokenize("Once upon a time", TokenizeFlags::NONE).unwrap().len() > 3);
            }),
            o.session.call(|s| {
                let mut session = s.lock().unwrap();
                session.truncate(1, 0).unwrap();
                let item = [DecodeItem::new(1, &[1], DecodeFlags::LOGITS)];
                assert_eq!(session.batch_logits(&item).unwrap().len(), 1024);
                session.save(1, &mut std::io::sink()).unwrap();
            }),
            o.embedder
                .call(|e| assert_eq!(e.lock().unwrap().embed_texts(&[&[1]]).unwrap().len(), 8)),
            o.sampler.call(|s| assert_eq!(s.lock().unwrap().sample(None, &logits).unwrap().0, 3)),
            o.kv.call(|kv| {
                let mut out = [0.0; 128];
                kv.attend(&mut out, None, crate::flat::query(0, 0, &q), AttendOptions::default())
                    .unwrap()
            }),
            o.imatrix.call(|m| {
                assert_eq!(m.entry_at(m.find("a.weight").unwrap()).unwrap().sums.len(), 2)
            }),
            o.writer.call(|w| w.lock().unwrap().set_bool("a.key", true).unwrap()),
            o.adapter.call(|a| assert_eq!(a.info().unwrap().n_targets, 2)),
            o.job.call(|job| assert!(!job.tensor_at(0).unwrap().name.is_empty())),
        ];
        if !left.contains(&true) {
            return;
        }
        std::thread::yield_now(); // passed to the closing thread
    }
}

#[test]
fn objects_are_dropped_while_threads_call() {
    needs_model!();
    let rounds =
        std::env::var("GGUFX_CLOSE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    for round in 0..rounds {
        let objects = Objects::new().unwrap();
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| wear(&objects))));
            for i in 0..13 {
                (0..(round + i) % 5).for_each(|_| std::thread::yield_now());
                objects.drop_one(round * 7 + i);
            }
        });
    }
}
