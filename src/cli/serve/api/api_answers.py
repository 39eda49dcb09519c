"""Endpoints and the form of their answers.

SPDX-License-Identifier: MIT
"""
from api_fields import GROUPS


def shape(**members):
    """An object with these members only. A name that ends in _ stands for one that may be absent."""
    return {"type": "object", "properties": {name.removesuffix("_"): value for name, value in members.items()},
            "required": [name for name in members if not name.endswith("_")], "additionalProperties": False}


def items(of, **limits):
    return {"type": "array", "items": of, **limits}


def one_of(*values):
    return {"enum": list(values)} if len(values) > 1 else {"const": values[0]}


def any_of(*schemas):
    return {"anyOf": list(schemas)}


def maybe(schema):
    return any_of(schema, NULL)


def ref(name):
    return {"$ref": "#/components/schemas/" + name}


def asked(name):
    """The value of a field of /v1/responses, repeated."""
    return GROUPS["responses"].row(name).type.schema()


TEXT, NUMBER, FLAG, NULL, OBJECT = ({"type": name} for name in ("string", "number", "boolean", "null", "object"))
COUNT = {"type": "integer", "minimum": 0}
BYTES = items({"type": "integer", "minimum": 0, "maximum": 255})
NOTHING = items({}, maxItems=0)
REASON = one_of("stop", "length", "tool_calls")
STATUS = one_of("in_progress", "completed", "incomplete")
CHAT_LOGPROBS = maybe(shape(content=items(ref("TokenLogprob")), refusal=NULL))
COMPLETION_LOGPROBS = maybe(shape(tokens=items(TEXT), token_logprobs=items(maybe(NUMBER)),
                                  top_logprobs=items(maybe({"type": "object", "additionalProperties": NUMBER})), text_offset=items(COUNT)))
CALLED = shape(name=TEXT, arguments=TEXT)
MESSAGE = shape(role=one_of("assistant"), content=maybe(TEXT), refusal=NULL, annotations=NOTHING, reasoning_content_=TEXT,
                tool_calls_=items(shape(id=TEXT, type=one_of("function"), function=CALLED)))
DELTA = shape(role_=one_of("assistant"), content_=TEXT, reasoning_content_=TEXT,
              tool_calls_=items(shape(index=COUNT, function=shape(arguments=TEXT, name_=TEXT), id_=TEXT, type_=one_of("function"))))
HEAD = {"id": TEXT, "created": COUNT, "model": TEXT, "system_fingerprint": TEXT, "seed": {**COUNT, "description": "extension"}}


def whole_answer(kind, choice):
    return shape(**HEAD, object=one_of(kind), choices=items(shape(index=COUNT, **choice, finish_reason=REASON)), usage=ref("Usage"),
                 timings=shape(prompt_ms=NUMBER, predicted_ms=NUMBER), warning_=TEXT)


def chunk(kind, choice):
    return shape(**HEAD, object=one_of(kind), choices=items(shape(index=COUNT, **choice, finish_reason=maybe(REASON))),
                 usage_=maybe(ref("Usage")))


OUTPUT_TEXT = shape(type=one_of("output_text"), text=TEXT, annotations=NOTHING, logprobs=items(ref("TokenLogprob")))
REASONING_TEXT = shape(type=one_of("reasoning_text"), text=TEXT)


def event(*names, **members):
    return shape(type=one_of(*("response." + name for name in names)), sequence_number=COUNT, **members)


ITEM = {"output_index": COUNT}
PART = {"item_id": TEXT, **ITEM, "content_index": COUNT}
LOGPROBS = {"logprobs": items(ref("TokenLogprob"))}
VECTOR_USAGE = shape(prompt_tokens=COUNT, total_tokens=COUNT)
SCHEMAS = {
    "Chat": whole_answer("chat.completion", {"message": MESSAGE, "logprobs": CHAT_LOGPROBS}),
    "ChatChunk": chunk("chat.completion.chunk", {"delta": DELTA, "logprobs": CHAT_LOGPROBS}),
    "Completion": whole_answer("text_completion", {"text": TEXT, "logprobs": COMPLETION_LOGPROBS}),
    "CompletionChunk": chunk("text_completion", {"text": TEXT, "logprobs": COMPLETION_LOGPROBS}),
    "Response": shape(
        id=TEXT, object=one_of("response"), created_at=COUNT, status=one_of("in_progress", "completed", "incomplete", "failed"),
        error=maybe(shape(code=TEXT, message=TEXT)), incomplete_details=maybe(shape(reason=one_of("max_output_tokens"))),
        model=TEXT, system_fingerprint=TEXT, seed=COUNT, instructions=maybe(TEXT), tool_choice=asked("tool_choice"), tools=asked("tools"),
        text=shape(format=ref("TextFormat"), verbosity=one_of("low", "medium", "high")), reasoning=shape(effort=maybe(TEXT), summary=NULL),
        top_logprobs=COUNT, max_output_tokens=maybe(COUNT), temperature=NUMBER, top_p=NUMBER, metadata=OBJECT, user=maybe(TEXT),
        store=one_of(False), background=one_of(False), truncation=one_of("disabled"), service_tier=one_of("default"),
        parallel_tool_calls=FLAG, previous_response_id=NULL, output=items(ref("OutputItem")),
        usage=maybe(shape(input_tokens=COUNT, input_tokens_details=shape(cached_tokens=COUNT), output_tokens=COUNT,
                          output_tokens_details=shape(reasoning_tokens=COUNT), total_tokens=COUNT)), warning_=TEXT),
    "OutputItem": any_of(
        shape(id=TEXT, type=one_of("message"), status=STATUS, role=one_of("assistant"), content=items(OUTPUT_TEXT)),
        shape(id=TEXT, type=one_of("function_call"), status=STATUS, call_id=TEXT, name=TEXT, arguments=TEXT),
        shape(id=TEXT, type=one_of("reasoning"), status=STATUS, summary=NOTHING, content=items(REASONING_TEXT))),
    "ResponseEvent": any_of(
        event("created", "in_progress", "completed", "incomplete", "failed", response=ref("Response")),
        event("output_item.added", "output_item.done", **ITEM, item=ref("OutputItem")),
        event("content_part.added", "content_part.done", **PART, part=any_of(OUTPUT_TEXT, REASONING_TEXT)),
        event("output_text.delta", **PART, delta=TEXT, **LOGPROBS),
        event("output_text.done", **PART, text=TEXT, **LOGPROBS),
        event("reasoning_text.delta", **PART, delta=TEXT),
        event("reasoning_text.done", **PART, text=TEXT),
        event("function_call_arguments.delta", item_id=TEXT, **ITEM, delta=TEXT),
        event("function_call_arguments.done", item_id=TEXT, **ITEM, name=TEXT, arguments=TEXT),
        shape(type={"const": "error", "description": "the client read too slowly: the stream ends"}, sequence_number=COUNT, code=TEXT,
              message=TEXT, param={"type": "null"})),
    "Embeddings": shape(object=one_of("list"), model=TEXT, usage=VECTOR_USAGE,
                        data=items(shape(object=one_of("embedding"), index=COUNT, embedding=any_of(items(NUMBER), TEXT)))),
    "Rerank": shape(object=one_of("list"), model=TEXT, usage=VECTOR_USAGE,
                    results=items(shape(index=COUNT, relevance_score=NUMBER, document_=shape(text=TEXT)))),
    "Model": shape(id=TEXT, object=one_of("model"), created=COUNT, owned_by=TEXT, context_length=COUNT, parameters=COUNT,
                   architecture=TEXT, quantization=TEXT),
    "TokenLogprob": shape(token=TEXT, logprob=NUMBER, bytes=BYTES, top_logprobs=items(shape(token=TEXT, logprob=NUMBER, bytes=BYTES))),
    "Usage": shape(prompt_tokens=COUNT, completion_tokens=COUNT, total_tokens=COUNT,
                   prompt_tokens_details=shape(cached_tokens=COUNT, audio_tokens=COUNT),
                   completion_tokens_details=shape(reasoning_tokens=COUNT, audio_tokens=COUNT, accepted_prediction_tokens=COUNT,
                                                   rejected_prediction_tokens=COUNT)),
    "Error": shape(error=shape(message=TEXT, type=TEXT, param=maybe(TEXT), code=maybe(TEXT))),
}
SLOT = shape(id=COUNT, n_tokens=COUNT)
PIECE = any_of(TEXT, shape(hex=TEXT))
SAMPLING = shape(temperature=NUMBER, top_p=NUMBER, top_k=COUNT, min_p=NUMBER,
                 model_={**OBJECT, "description": "Sampling defaults of the model: keys general.sampling.* of its file."})
PROPS = shape(version=TEXT, model=TEXT, system_fingerprint=TEXT, architecture=TEXT, n_context=COUNT, n_vocab=COUNT, n_parallel=COUNT,
              chat_template=FLAG, embeddings=FLAG, rerank=FLAG, file_replaced=FLAG, decode=one_of("row-wise", "tiled"), sampling=SAMPLING)
ERRORS = {
    400: "invalid request: message and param tell the reason",
    401: "the API key is missing or not valid",
    403: "the host name or the origin is not allowed, or the quota of snapshots is used up",
    404: "unknown path, model or slot",
    405: "wrong method",
    413: "the body is too large",
    415: "the body is not JSON, or has a content encoding",
    429: "the queue is full, or the limit of the key or of the address is reached",
    500: "internal error of the server",
    503: "the model is being loaded, or the server is shutting down",
}
KEYED, OPEN = (400, 401, 403, 405, 429, 503), (400, 403, 405, 429)
# path: (operation, summary, group of the body, answer, event or None)
POSTS = {
    "/v1/chat/completions": ("chat", "Create a chat completion", "chat", ref("Chat"), any_of(ref("ChatChunk"), ref("Error"))),
    "/v1/responses": ("respond", "Create a response", "responses", ref("Response"), ref("ResponseEvent")),
    "/v1/completions": ("complete", "Create a completion", "completions", ref("Completion"),
                        any_of(ref("CompletionChunk"), ref("Error"))),
    "/v1/embeddings": ("embed", "Create embeddings; with --embeddings, or an embedding model", "embeddings", ref("Embeddings"), None),
    "/v1/rerank": ("rerank", "Rank documents by relevance to a query; for rerankers", "rerank", ref("Rerank"), None),
    "/tokenize": ("tokenize", "Tokenize a text", "tokenize", shape(tokens=any_of(items(COUNT), items(shape(id=COUNT, piece=PIECE)))), None),
    "/detokenize": ("detokenize", "Detokenize token ids", "detokenize", shape(content=TEXT), None),
    "/apply-template": ("template", "Apply the chat template to a conversation", "apply_template", shape(prompt=TEXT), None),
    "/slots/{id}/save": ("save", "Save an idle slot to a file in --slot-dir", "slots", SLOT, None),
    "/slots/{id}/restore": ("restore", "Restore an idle slot from such a file", "slots", SLOT, None),
}
# path: (operation, summary, group of the body, answer)
DELETES = {
    "/slots/{id}": ("delete", "Delete a snapshot of this key from --slot-dir; the slot itself does not change", "slots",
                    shape(filename=TEXT, deleted={"const": True})),
}
# path: (operation, summary, answer, errors, media type)
GETS = {
    "/v1/models": ("models", "List the models: one", shape(object=one_of("list"), data=items(ref("Model"))), KEYED, "application/json"),
    "/v1/models/{id}": ("model", "Describe the model", ref("Model"), (404, *KEYED), "application/json"),
    "/props": ("props", "Properties of the server and the model", PROPS, KEYED, "application/json"),
    "/slots": ("slots", "List the slots and their contents (--slots)",
               items(shape(id=COUNT, state=one_of("free", "reading", "writing"), n_tokens=COUNT, n_prompt_tokens=COUNT)), (404, *KEYED),
               "application/json"),
    "/metrics": ("metrics", "Counters and histograms for Prometheus", TEXT, KEYED, "text/plain"),
    "/health": ("ready", "Ready for requests", shape(status=one_of("ok")), (*OPEN, 503), "application/json"),
    "/livez": ("alive", "Alive, though perhaps not ready", shape(status=one_of("alive")), OPEN, "application/json"),
    "/openapi.json": ("describe", "This specification", OBJECT, OPEN, "application/json"),
    "/": ("page", "The web page", TEXT, OPEN, "text/html"),
}
