//! The demo model tells its story, the same one each time.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    DecodeOptions, DetokenizeFlags, Model, Sampler, SamplerOptions, Session, SessionOptions,
    Status, TokenFlags, TokenizeFlags, Tokenizer,
};
use std::ops::ControlFlow;

fn story(rt: &ggufx::Runtime, options: SamplerOptions) -> String {
    let file = demo(rt);
    let (model, tokenizer) = (Model::new(rt, &file).unwrap(), Tokenizer::new(&file).unwrap());
    let info = model.info().unwrap();
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    drop((file, model)); // the session keeps what it needs
    let mut sampler = Sampler::new(rt, info.n_vocab, options).unwrap();
    let mut ids = tokenizer.encode("Once upon a time", TokenizeFlags::ADD_SPECIAL).unwrap();
    let (mut next, mut logits) = (ids.clone(), vec![0.0; info.n_vocab as usize]);
    while ids.len() < 40 {
        session.decode(&next).unwrap();
        session.logits(&mut logits).unwrap();
        let (id, logprob) = sampler.sample(&logits).unwrap();
        assert!(logprob <= 0.0);
        if tokenizer.token(id).unwrap().flags.contains(TokenFlags::END) {
            break;
        }
        ids.push(id);
        next = vec![id];
    }
    String::from_utf8(tokenizer.decode(&ids, DetokenizeFlags::NONE).unwrap()).unwrap()
}

#[test]
fn the_demo_model_tells_a_story() {
    needs_model!();
    let rt = runtime();
    let told = story(&rt, SamplerOptions::default());
    assert!(told.starts_with("Once upon a time") && told.len() > 60, "{}", told);
    assert_eq!(told, story(&rt, SamplerOptions::default()));
    let warm = SamplerOptions { temperature: 1.5, top_k: 40, seed: 7, ..Default::default() };
    assert_eq!(story(&rt, warm), story(&rt, warm));
    assert_ne!(told, story(&rt, warm));
}

#[test]
fn text_to_ids_and_back() {
    needs_model!();
    let rt = runtime();
    let tokenizer = Tokenizer::new(&demo(&rt)).unwrap();
    let info = tokenizer.info().unwrap();
    assert_eq!((info.kind, info.n_tokens, info.bos, info.eos), ("llama", 1024, Some(1), Some(2)));
    let text = "The little dog, \u{e9}\u{1f600}!";
    let ids = tokenizer.encode(text, TokenizeFlags::NONE).unwrap();
    let back = tokenizer.decode(&ids, DetokenizeFlags::NONE).unwrap();
    assert_eq!(back, text.as_bytes());
    assert_eq!(tokenizer.token(1).unwrap().text, b"<s>");
    fails(tokenizer.token(1024), Status::ARGUMENT);
    fails(tokenizer.decode(&[5000], DetokenizeFlags::NONE), Status::ARGUMENT);
}

#[test]
fn a_decode_can_be_cancelled_watched_and_taken_back() {
    needs_model!();
    let rt = runtime();
    let model = Model::new(&rt, &demo(&rt)).unwrap();
    let options = SessionOptions { n_context: 16, ..Default::default() };
    let mut session = Session::new(&model, options).unwrap();
    let ids = [1, 300, 301, 302];
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let stopping = DecodeOptions { progress: Some(&mut stop), ..Default::default() };
    fails(session.decode_with(&ids, stopping), Status::CANCELLED);
    assert_eq!(session.length(), 0);
    fails(session.logits(&mut [0.0; 1024]), Status::STATE);
    let (mut layers, mut all) = (vec![], vec![0.0; 4 * 1024]);
    let mut look = |a: &ggufx::AttentionView<'_>| {
        assert_eq!((a.q.len(), a.k.len(), a.out.len()), (4 * 256, 4 * 128, 4 * 256));
        assert!(a.out.iter().chain(a.v).all(|v| v.is_finite()));
        layers.push(a.layer);
        ControlFlow::Continue(())
    };
    let watched = DecodeOptions {
        all_logits: Some(&mut all),
        attention: Some(&mut look),
        ..Default::default()
    };
    session.decode_with(&ids, watched).unwrap();
    assert_eq!(layers, [0, 1, 2, 3]);
    let mut last = vec![0.0; 1024];
    session.logits(&mut last).unwrap();
    assert_eq!(all[3 * 1024..], last[..]);
    session.truncate(2).unwrap();
    assert_eq!(session.length(), 2);
    fails(session.decode(&[1; 15]), Status::CAPACITY);
    assert_eq!(fails(session.decode(&[1, 4000]), Status::ARGUMENT).index(), Some(1));
}

#[test]
fn perplexity_of_a_text() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let (model, tokenizer) = (Model::new(&rt, &file).unwrap(), Tokenizer::new(&file).unwrap());
    let text = "Once upon a time there was a little dog. The dog was happy. ".repeat(6);
    let ids = tokenizer.encode(text, TokenizeFlags::NONE).unwrap();
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    let mut running = 0;
    let mut count = |_: &ggufx::Perplexity| {
        running += 1;
        ControlFlow::Continue(())
    };
    let result = session.perplexity(&ids, 32, Some(1), &mut count).unwrap();
    assert!(result.perplexity > 1.0 && result.perplexity.is_finite(), "{:?}", result);
    assert!(running == result.n_chunks && running > 0, "{} of {:?}", running, result);
    let stopped = session.perplexity(&ids, 32, None, &mut |_| ControlFlow::Break(()));
    fails(stopped, Status::CANCELLED);
    fails(Sampler::new(&rt, 8, SamplerOptions { top_p: -1.0, ..Default::default() }), Status::ARGUMENT);
}
