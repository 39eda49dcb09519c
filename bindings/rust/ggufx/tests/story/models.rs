//! Deterministic generation with the demo model.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    pre_tokenizer_at, pre_tokenizer_count, DecodeFlags, DecodeItem, DecodeOptions,
    DetokenizeFlags, Detokenizer, EmbedFlags, EmbedOptions, Embedder, LayerKind, MatmulFlags,
    EvalOptions, Model, ModelFlags, ModelOptions, ModelOverride, Pooling, PreFlags, Sampler,
    Session, SessionOptions, Status, TokenFlags, TokenizeFlags,
    Tokenizer, TokenizerFlags,
};
use std::ops::ControlFlow;

fn story(rt: &ggufx::Runtime, top_k: u32, temperature: f32) -> String {
    let file = demo(rt);
    let (model, tokenizer) =
        (Model::new(rt, &file, Default::default()).unwrap(), Tokenizer::new(&file).unwrap());
    let n_vocab = model.info().unwrap().n_vocab;
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    drop((file, model)); // the session keeps its dependencies alive
    let mut sampler = Sampler::new(rt, n_vocab, 7).unwrap();
    sampler.add_top_k(top_k).unwrap();
    sampler.add_temperature(temperature, Default::default()).unwrap();
    let mut ids = tokenizer.tokenize("Once upon a time", TokenizeFlags::ADD_SPECIAL).unwrap();
    let mut next = ids.clone();
    while ids.len() < 40 {
        let logits = session.batch_logits(&[DecodeItem::new(0, &next, DecodeFlags::LOGITS)]).unwrap();
        let (id, logprob) = sampler.sample(None, &logits).unwrap();
        assert!(logprob <= 0.0);
        if tokenizer.token_info(id).unwrap().flags.contains(TokenFlags::EOG) {
            break;
        }
        ids.push(id);
        next = vec![id];
    }
    String::from_utf8(tokenizer.detokenize(&ids, DetokenizeFlags::NONE).unwrap()).unwrap()
}

#[test]
fn the_demo_model_tells_a_story() {
    needs_model!();
    let rt = runtime();
    let told = story(&rt, 1, 0.0);
    assert!(told.starts_with("Once upon a time") && told.len() > 60, "{}", told);
    assert_eq!(told, story(&rt, 1, 0.0));
    let warm = story(&rt, 40, 1.5);
    assert_eq!(story(&rt, 40, 1.5), warm);
    assert_ne!(told, warm);
}

#[test]
fn text_to_ids_and_back() {
    needs_model!();
    let rt = runtime();
    let tokenizer = Tokenizer::new(&demo(&rt)).unwrap();
    let info = tokenizer.info().unwrap();
    assert_eq!((info.kind, info.n_tokens, info.bos, info.eos), ("llama", 1024, 1, 2));
    let text = "The little dog, \u{e9}\u{1f600}!";
    let ids = tokenizer.tokenize(text, TokenizeFlags::NONE).unwrap();
    let back = tokenizer.detokenize(&ids, DetokenizeFlags::NONE).unwrap();
    assert_eq!(back, text.as_bytes());
    assert_eq!(tokenizer.token_info(1).unwrap().text, b"<s>");
    fails(tokenizer.token_info(1024), Status::ARGUMENT);
    fails(tokenizer.detokenize(&[5000], DetokenizeFlags::NONE), Status::ARGUMENT);
}

#[test]
fn ids_one_by_one_give_whole_characters() {
    needs_model!();
    let tokenizer = Tokenizer::new(&demo(&runtime())).unwrap();
    let text = "The little dog, \u{e9}\u{1f600}!";
    let ids = tokenizer.tokenize(text, TokenizeFlags::NONE).unwrap();
    let mut out = Detokenizer::new(&tokenizer, DetokenizeFlags::FLUSH); // which it takes out
    for _ in 0..2 {
        let parts: Vec<_> = ids.iter().map(|&id| out.push(&[id]).unwrap()).collect();
        assert!(parts.iter().all(|part| std::str::from_utf8(part).is_ok()));
        assert!(parts.iter().filter(|part| part.is_empty()).count() >= 4); // incomplete characters
        assert_eq!(parts.concat(), text.as_bytes());
        assert!(out.finish().unwrap().is_empty());
    }
    let half =
        ids.iter().position(|&id| tokenizer.token_info(id).unwrap().text == b"<0xC3>").unwrap();
    assert!(out.push(&ids[half..=half]).unwrap().is_empty());
    fails(out.push(&[5000]), Status::ARGUMENT);
    assert_eq!(out.finish().unwrap(), b"\xc3");
    assert_eq!(out.push(&ids).unwrap(), text.as_bytes());
}

#[test]
fn special_tokens_and_pre_tokenizers() {
    needs_model!();
    let tokenizer = Tokenizer::new(&demo(&runtime())).unwrap();
    let info = tokenizer.info().unwrap();
    assert!(info.flags.contains(TokenizerFlags::ADD_BOS) && info.pre.is_none());
    assert_eq!((info.eos, info.fim_prefix), (2, -1));
    let all: Vec<_> = (0..pre_tokenizer_count()).map(|i| pre_tokenizer_at(i).unwrap()).collect();
    let named = |name: &str| all.iter().find(|pre| pre.name == name).unwrap();
    assert!(all.len() > 70 && all.iter().all(|pre| !pre.rules.is_empty()));
    let llama = named("llama-bpe");
    assert!(llama.flags.contains(PreFlags::IGNORE_MERGES));
    let steps = llama.pipeline;
    assert!(steps.starts_with(b"S(?i:") && steps.ends_with(b"\0B\0"), "{:?}", steps);
    assert_eq!(named("gpt-2").pipeline, b"G\0");
    assert!(llama.unicode.starts_with("15."));
}

#[test]
fn a_decode_can_be_cancelled_watched_and_taken_back() {
    needs_model!();
    let rt = runtime();
    let model = Model::new(&rt, &demo(&rt), Default::default()).unwrap();
    let options = SessionOptions {
        n_context: 16,
        matmul_flags: MatmulFlags::BATCH_INVARIANT,
        ..Default::default()
    };
    let mut session = Session::new(&model, options).unwrap();
    let ids = [1, 300, 301, 302];
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let stopping = DecodeOptions { progress: Some(&mut stop), ..Default::default() };
    let none = [DecodeItem::new(0, &ids, DecodeFlags::NONE)];
    fails(session.decode(&none, stopping), Status::CANCELLED);
    assert_eq!(session.length(0), 0);
    let (mut layers, mut all) = (vec![], vec![0.0; 4 * 1024]);
    let mut look = |a: &ggufx::AttentionView<'_>| {
        assert_eq!((a.q.len(), a.k.len(), a.out.len()), (4 * 256, 4 * 128, 4 * 256));
        assert!(a.out.iter().chain(a.v).all(|v| v.is_finite()));
        layers.push(a.layer);
        ControlFlow::Continue(())
    };
    let every = [DecodeItem::new(0, &ids, DecodeFlags::ALL_LOGITS)];
    let watched = DecodeOptions { logits: Some(&mut all), ..Default::default() };
    session.decode_with(&every, watched, Some(&mut look)).unwrap();
    assert_eq!(layers, [0, 1, 2, 3]);
    session.truncate(0, 0).unwrap();
    let mut last =
        |ids: &[i32]| session.batch_logits(&[DecodeItem::new(0, ids, DecodeFlags::LOGITS)]);
    assert_eq!(all[3 * 1024..], last(&ids).unwrap()[..]);
    fails(last(&[1; 15]), Status::CAPACITY);
    assert_eq!(fails(last(&[1, 4000]), Status::ARGUMENT).index(), Some(0));
    session.truncate(0, 2).unwrap();
    assert_eq!(session.length(0), 2);
}

#[test]
fn a_model_tells_its_layers_and_takes_other_keys() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let model = Model::new(&rt, &file, Default::default()).unwrap();
    let info = model.info().unwrap();
    let layer = model.layer_info(1).unwrap();
    assert_eq!((layer.kind, layer.kv_layer, layer.head_dim_k), (LayerKind::ATTENTION, 1, 64));
    assert!(layer.sink_logits.is_none() && info.architecture == "llama");
    fails(model.layer_info(info.n_layers), Status::ARGUMENT);
    assert!(file.model_describe_graph().unwrap().contains("token_embd"), "{}", file.model_describe_graph().unwrap());
    let with = |key, value| {
        let overrides = &[ModelOverride { key, value }];
        Model::new(&rt, &file, ModelOptions { overrides, ..Default::default() })
    };
    let shorter = with("llama.context_length", "77").unwrap();
    assert_eq!(shorter.info().unwrap().n_context, 77);
    fails(with("llama.nosuch", "1"), Status::ARGUMENT);
    fails(with("llama.context_length", "7\0"), Status::ARGUMENT);
    let mut seen = vec![];
    let mut report = |done: u64, total: u64| {
        seen.push((done, total));
        if done < 3 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let stopped = ModelOptions { progress: Some(&mut report), ..Default::default() };
    fails(Model::new(&rt, &file, stopped), Status::CANCELLED);
    assert_eq!(seen, [(1, 4), (2, 4), (3, 4)]);
}

#[test]
fn texts_become_vectors() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let model = Model::new(&rt, &file, Default::default()).unwrap();
    assert_eq!(model.info().unwrap().flags, ModelFlags::NONE); // it predicts; any model embeds
    let default = EmbedOptions::default();
    let texts: [&[i32]; 3] = [&[1, 300, 301], &[5], &[1, 302, 303, 304, 305]];
    let mut embedder = Embedder::new(&model, default).unwrap();
    let info = embedder.info().unwrap();
    assert_eq!((info.pooling, info.dimensions), (Pooling::LAST, 256));
    let every = embedder.embed_texts(&texts).unwrap();
    for (i, text) in texts.iter().enumerate() {
        assert_eq!(embedder.embed_texts(&[text]).unwrap(), every[i * 256..(i + 1) * 256]);
    }
    let (pooling, flags) = (Pooling::NONE, EmbedFlags::TRUNCATE);
    let none = EmbedOptions { n_context: 4, pooling, flags, ..default };
    let rows = Embedder::new(&model, none).unwrap().embed_texts(&texts).unwrap();
    assert_eq!(rows.len(), (3 + 1 + 4) * 256);
    assert_eq!(rows[2 * 256..3 * 256], every[..256]);
    assert_eq!(fails(embedder.embed_texts(&[&[1], &[]]), Status::ARGUMENT).index(), Some(1));
    let (mut out, mut stop) = (vec![0.0; 256], |_: u64, _: u64| ControlFlow::Break(()));
    let stopped =
        embedder.embed(&mut out, &[ggufx::TokenList { tokens: &[1, 2] }], Some(&mut stop));
    fails(stopped, Status::CANCELLED);
}

#[test]
fn perplexity_of_a_text() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let (model, tokenizer) =
        (Model::new(&rt, &file, Default::default()).unwrap(), Tokenizer::new(&file).unwrap());
    let text = "Once upon a time there was a little dog. The dog was happy. ".repeat(6);
    let ids = tokenizer.tokenize(text, TokenizeFlags::NONE).unwrap();
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    let mut running = 0;
    let mut count = |_: &ggufx::EvalFacts| {
        running += 1;
        ControlFlow::Continue(())
    };
    let options = EvalOptions { report: Some(&mut count), ..Default::default() };
    let result = session.eval_perplexity(&ids, 32, 1, options).unwrap();
    assert!(result.perplexity > 1.0 && result.perplexity.is_finite(), "{:?}", result);
    assert!(running == result.n_chunks && running > 0, "{} of {:?}", running, result);
    let mut stop = |_: &ggufx::EvalFacts| ControlFlow::Break(());
    let options = EvalOptions { report: Some(&mut stop), ..Default::default() };
    let stopped = session.eval_perplexity(&ids, 32, -1, options);
    fails(stopped, Status::CANCELLED);
    assert_eq!(session.eval_perplexity(&ids, 32, 1, Default::default()).unwrap(), result);
}
