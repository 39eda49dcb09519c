"""The fields of all requests: each stands here once. api.py writes what is made from this table.

row(name, groups, type, doc, ...): groups are bodies of endpoints or nested objects, as GROUP or GROUP:VALUE OF ITS TAG.
  required     absent and null are refused
  default      value of an absent field
  extension    the published API does not have the field
  ignored      accepted without effect; so are the values of only(...)
  when         values of the group's tag that have the field; without: all
  example      values for tests, instead of those of the type
SPDX-License-Identifier: MIT
"""
from api_types import (I32, I64, U32, by_token, each, either, anything, flag, group, number, only, open_object, text, whole,
                       words)


class Row:
    def __init__(self, name, type, doc, required, default, extension, ignored, when, example):
        self.name, self.type, self.doc, self.required, self.default = name, type, doc, required, default
        self.extension, self.when, self.example = extension, when.split(), example
        self.has_no_effect = ignored or type.kind == "only"

    def examples(self):
        return self.type.examples() if self.example is None else self.example

    def sample(self, random):
        return self.type.sample(random) if self.example is None else random.choice(self.example)


class Group:
    """`tag`: a field whose value decides which other fields there are. Objects with a tag in `skipped` are ignored as a whole;
    `dated`: also with a date after it (web_search_2025_08_26)."""

    def __init__(self, component, tag=None, skipped="", dated=False, note=""):
        self.component, self.tag, self.skipped, self.dated, self.note = component, tag, skipped.split(), dated, note
        self.rows = []

    def row(self, name, when=None):
        return next(r for r in self.rows if r.name == name and (when is None or not r.when or when in r.when))

    def tags(self):
        return self.row(self.tag).type.words if self.tag else [None]

    def rows_of(self, tag):
        return [r for r in self.rows if tag is None or not r.when or tag in r.when]

    def examples(self):
        """For each value of the tag an object with all fields, and one for each further example of a field beside the required ones."""
        out = []
        for tag in self.tags():
            rows = [r for r in self.rows_of(tag) if r.name != self.tag]
            least = {**({self.tag: tag} if tag else {}), **{r.name: r.examples()[0] for r in rows if r.required}}
            out.append({**least, **{r.name: r.examples()[0] for r in rows}})
            out += [{**least, r.name: value} for r in rows for value in r.examples()[1:]]
        return out

    def sample(self, random):
        tag = random.choice(self.tags())
        out = {r.name: r.sample(random) for r in self.rows_of(tag) if r.required or random.random() < 0.5}
        return {**out, self.tag: tag} if tag else out


GROUPS = group.tables
ROWS = []  # (names of groups, row) in the order of this file
GROUPS.update({
    # bodies
    "chat": Group("ChatRequest"),
    "responses": Group("ResponsesRequest"),
    "completions": Group("CompletionRequest"),
    "embeddings": Group("EmbeddingsRequest"),
    "rerank": Group("RerankRequest"),
    "tokenize": Group("TokenizeRequest"),
    "detokenize": Group("DetokenizeRequest"),
    "apply_template": Group("TemplateRequest"),
    "slots": Group("SlotRequest"),
    # nested objects
    "message": Group("Message"),
    "part": Group("TextPart"),
    "call": Group("MessageCall"),
    "called": Group("CalledFunction"),
    "tool": Group("Tool"),
    "function": Group("Function"),
    "choice": Group("FunctionChoice"),
    "choice_name": Group("FunctionName"),
    "format": Group("ResponseFormat", tag="type"),
    "format_schema": Group("FormatSchema"),
    "reasoning": Group("Reasoning"),
    "stream_options": Group("StreamOptions"),
    "item": Group("InputItem", tag="type", skipped="web_search_call file_search_call",
                  note="ignored: the header X-Ggufx-Ignored names it"),
    "item_part": Group("InputPart"),
    "flat_tool": Group("FlatTool", tag="type", dated=True, note="a hosted tool: ignored, and the header X-Ggufx-Ignored names it",
                       skipped="web_search web_search_preview file_search code_interpreter computer computer_use_preview mcp "
                               "image_generation local_shell shell apply_patch tool_search namespace custom"),
    "flat_choice": Group("FlatFunctionChoice"),
    "text": Group("TextOptions"),
    "text_format": Group("TextFormat", tag="type"),
    "responses_reasoning": Group("ResponsesReasoning"),
    "responses_stream_options": Group("ResponsesStreamOptions"),
    "document": Group("Document"),
})
BODIES = list(GROUPS)[:9]


def row(name, groups, type, doc, *, required=False, default=None, extension=False, ignored=False, when="", example=None):
    for one in groups.split():
        one, _, tag = one.partition(":")
        GROUPS[one].rows.append(Row(name, type, doc, required, default, extension, ignored, tag or when, example))
    ROWS.append(([one.partition(":")[0] for one in groups.split()], GROUPS[one].rows[-1]))


CHATS = "chat responses"
WRITERS = "chat responses completions"
RENDERED = "chat responses apply_template"
ID = whole(0, I32)
INPUTS = either(text(), each(ID, 1, 2**24), each(either(text(), each(ID, 1, 2**24)), 1, 2048),
                phrase="a string, a list of token ids or a list of 1 to 2048 of these")
ARGUMENTS = either(text(), open_object(), phrase="a JSON object or the text of one")
EFFORT = words("none", "minimal", "low", "medium", "high", "xhigh")
BUDGET = whole(-1, I32)
CHOICE, CHOSEN = words("auto", "none", "required"), "auto, none, required or an object that names a function"
SCHEMA = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": False}
SUMMARY = only("auto", "concise", "detailed")
BONN = "{\"city\": \"Bonn\"}"

# ---- input ----
row("messages", "chat apply_template", each(group("message"), 1), "The conversation.", required=True,
    example=[[{"role": "user", "content": "Once"}],
             [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "The"}]])
row("input", "responses", either(text(), each(group("item"), 1)), "Text, or the items of a conversation.", required=True)
row("instructions", "responses", text(), "System message before the input.")
row("prompt", "completions", INPUTS, "Text, token ids, or a list of these.", required=True,
    example=["Once upon a time", [5, 9, 2], ["The", [5, 9]]])
row("input", "embeddings", INPUTS, "Text, token ids, or a list of these.", required=True, example=["Once", ["The", [5, 9]]])
row("suffix", "completions", text(), "Text after the completion, if the vocabulary has fill-in-the-middle tokens.")
row("echo", "completions", flag, "Return the prompt before the completion, and with `logprobs` also its log-probabilities.", default=False)
row("parse_special", "completions", flag, "Read control tokens in prompts; default true, false with `suffix`.", extension=True)
row("return_special", "completions", flag, "Write control tokens into the text.", extension=True, default=False)
row("query", "rerank", text(), "Text that the documents are compared with.", required=True)
row("documents", "rerank", each(either(text(), group("document")), 1, 2048), "Texts to rank.", required=True)
row("top_n", "rerank", whole(1, 2048), "Number of results; without it all documents.")
row("return_documents", "rerank", flag, "Repeat the documents in the results.", default=False)
row("encoding_format", "embeddings", words("float", "base64"), "Form of the vectors.", default="float")
row("dimensions", "embeddings", whole(1, U32), "Length to which vectors are cut.", example=[8])
row("content", "tokenize", text(), "Text to tokenize.", required=True)
row("add_special", "tokenize", flag, "Add BOS and EOS as the vocabulary says.", default=False)
row("parse_special", "tokenize", flag, "Read control tokens in the text.", default=True)
row("with_pieces", "tokenize", flag, "Return the text of each token.", default=False)
row("tokens", "detokenize", each(ID, 0, 2**24), "Token ids.", required=True, example=[[5, 9, 2]])
row("filename", "slots", text(1, 128, letters="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"),
    "Name of the file in `--slot-dir`.", required=True, example=["first"])
row("model", "chat responses completions embeddings rerank", text(), "Name of the served model; others are a 404.", example=[""])

# ---- length and form of the answer ----
row("stream", WRITERS, flag, "Send the answer as events.", default=False)
row("stream_options", "chat completions", group("stream_options"), "Options of a stream.")
row("stream_options", "responses", group("responses_stream_options"), "Options of a stream.")
row("max_tokens", "chat", whole(1, U32), "Maximum number of tokens; without it up to the end of the context.")
row("max_completion_tokens", "chat", whole(1, U32), "Maximum number of tokens, reasoning included.")
row("max_output_tokens", "responses", whole(1, U32), "Maximum number of tokens, reasoning included.")
row("max_tokens", "completions", whole(0, U32), "Maximum number of tokens; 0 only with `echo`.", default=16)
row("n", "chat completions", whole(1, 8), "Number of answers; answer i has seed + i.", default=1)
row("best_of", "completions", whole(1, 8), "Number of generations of which the `n` likeliest by mean log-probability are returned.")
row("stop", "chat completions", either(text(1, 4096), each(text(1, 4096), 0, 16), phrase="a string of 1 to 4096 bytes or a list of at most 16"),
    "Stop strings: the answer ends before them.", example=["a", ["a", "the"]])
row("response_format", "chat", group("format"), "Text, any JSON object, or JSON by a schema.")
row("text", "responses", group("text"), "Form of the text.")
row("json_whitespace", CHATS, words("limited", "none", "any"),
    "White space in structured output; limited: a space, or a line break and at most 20 spaces.", extension=True)
row("verbosity", "chat text", words("low", "medium", "high"), "A variable of the template.")
row("logprobs", "chat", flag, "Return log-probabilities.", default=False)
row("logprobs", "completions", whole(0, 20), "Number of likeliest tokens to return with their log-probabilities.")
row("top_logprobs", "chat", whole(0, 20), "Number of likeliest tokens per token; needs `logprobs`.")
row("top_logprobs", "responses", whole(0, 20), "Number of likeliest tokens per token; needs `include`.")
row("include", "responses", each(words("message.output_text.logprobs", "reasoning.encrypted_content")),
    "Also return log-probabilities; encrypted reasoning has no effect.")

# ---- sampling ----
row("temperature", WRITERS, number(0, 1000000), "Sampling temperature; 0 takes the likeliest token.")
row("top_p", WRITERS, number(0, 1), "Sample from the likeliest tokens with this total probability.")
row("top_k", WRITERS, whole(0, U32), "Sample from this many likeliest tokens; 0: all.", extension=True)
row("min_p", WRITERS, number(0, 1), "Drop tokens below this share of the largest probability.", extension=True)
row("seed", WRITERS, whole(0, I64), "Seed of the sampler; without it random.")
row("frequency_penalty", "chat completions", number(-2, 2), "Subtracted from a logit per occurrence of the token in the answer.", default=0)
row("presence_penalty", "chat completions", number(-2, 2), "Subtracted from the logits of tokens that the answer has.", default=0)
row("logit_bias", "chat completions", by_token(number(-100, 100), 4096), "Added to the logits of tokens.")

# ---- tools ----
row("tools", "chat apply_template", each(group("tool"), 0, 512), "Functions that the model may call.")
row("tools", "responses", each(group("flat_tool"), 0, 512), "Functions that the model may call.")
row("tool_choice", "chat apply_template", either(CHOICE, group("choice"), phrase=CHOSEN), "Whether the model may call or must call a function.")
row("tool_choice", "responses", either(CHOICE, group("flat_choice"), phrase=CHOSEN), "Whether the model may call or must call a function.")
row("parallel_tool_calls", RENDERED, flag, "false: the answer ends after one call.", default=True)

# ---- reasoning and template ----
row("reasoning_effort", "chat apply_template", EFFORT, "A variable of the template; none: no reasoning.")
row("reasoning", "chat", group("reasoning"), "Effort and budget in one object.", extension=True)
row("reasoning", "responses", group("responses_reasoning"), "Effort and budget.")
row("thinking_budget", RENDERED, BUDGET, "Maximum number of reasoning tokens, -1: no limit; then the end marker follows.", extension=True)
row("reasoning_budget", RENDERED, BUDGET, "Alias of `thinking_budget`.", extension=True)
row("enable_thinking", RENDERED, flag, "A variable of the template.", extension=True)
row("reasoning_format", RENDERED, words("none", "auto", "deepseek"), "none: reasoning stays in the content.", extension=True)
row("chat_template_kwargs", RENDERED, open_object("messages", "tools"), "Variables of the template.", extension=True)
row("add_generation_prompt", "chat apply_template", flag, "The template opens the assistant's turn; default true unless a message is continued.",
    extension=True)
row("continue_final_message", "chat apply_template", flag,
    "Continue the last message; default true if it is one of the assistant without tool calls and no format is requested.", extension=True)

# ---- cache and user ----
row("cache_prompt", WRITERS, flag, "false: do not use the prefix cache.", extension=True, default=True)
row("id_conversation", WRITERS, text(0, 128), "Share the prefix cache within this conversation only.", extension=True)
row("user", "chat responses completions embeddings rerank", text(), "No effect; /v1/responses repeats it.", ignored=True)
row("metadata", CHATS, open_object(), "No effect; /v1/responses repeats it.", ignored=True)
row("safety_identifier", CHATS, text(), "No effect.", ignored=True)
row("prompt_cache_key", CHATS, text(), "No effect: prefixes are found by their tokens.", ignored=True)
row("prompt_cache_retention", "responses", text(), "No effect.", ignored=True)
row("client_metadata", "responses", anything, "No effect.", ignored=True)
row("store", CHATS, only(False), "Nothing is stored.")
row("service_tier", CHATS, only("auto", "default"), "One tier only.")
row("modalities", "chat", only(["text"]), "Text only.")
row("background", "responses", only(False), "No background work.")
row("truncation", "responses", only("disabled"), "A prompt is never cut.")
for name in ("audio", "functions", "function_call", "prediction", "prompt_cache_retention", "web_search_options"):
    row(name, "chat", only(), "Not supported.")
for name in ("previous_response_id", "conversation", "prompt", "max_tool_calls", "context_management"):
    row(name, "responses", only(), "Not supported.")

# ---- nested: messages of chats ----
row("role", "message", words("system", "developer", "user", "assistant", "tool"), "Author; developer is the same as system.", required=True,
    example=["assistant", "user"])
row("content", "message", either(text(), each(group("part"))), "Text or text parts; may be absent in messages of the assistant.", example=["Hi"])
row("tool_calls", "message", each(group("call")), "Calls of the assistant.", example=[[]])
row("tool_call_id", "message", text(), "Call that a result belongs to.")
row("name", "message", text(), "Name of the author or the function.")
row("reasoning_content", "message", text(), "Reasoning of the assistant.", extension=True)
row("reasoning", "message", text(), "Alias of `reasoning_content`.", extension=True)
for name in ("refusal", "audio", "function_call"):
    row(name, "message", only(), "Not supported.")
row("annotations", "message", anything, "No effect: answers have it.", ignored=True)
row("type", "part", words("text"), "Text only.", required=True, ignored=True)
row("text", "part item_part document", text(), "The text.", required=True)
row("id", "call", text(), "Name of the call; without it the server makes one.")
row("type", "call tool", only("function"), "Functions only.")
row("index", "call", anything, "No effect: calls of a stream have it.", ignored=True, example=[0])
row("function", "call", group("called"), "The called function.", required=True)
row("name", "called function flat_tool:function", text(), "Name of the function.", required=True, example=["weather"])
row("arguments", "called", ARGUMENTS, "A JSON object or its text; empty text is {}.", example=[BONN, {}])

# ---- nested: tools and formats ----
row("function", "tool", group("function"), "The function.", required=True)
row("type", "flat_tool", words("function"), "Functions, or hosted tools, which are ignored.", default="function")
row("description", "function flat_tool:function", text(), "What the function does.")
row("parameters", "function flat_tool:function", anything, "JSON Schema of the arguments, an object.", example=[SCHEMA])
row("strict", "function flat_tool:function", flag, "No effect: a forced call is always strict.", ignored=True)
row("type", "choice flat_choice", words("function"), "Force a function.", required=True, ignored=True)
row("function", "choice", group("choice_name"), "The function that must be called.", required=True)
row("name", "choice_name flat_choice", text(), "Name of the function.", required=True, example=["weather"])
row("type", "format text_format", words("text", "json_object", "json_schema"), "Form of the answer.", required=True)
row("json_schema", "format", group("format_schema"), "The schema and its name.", required=True, when="json_schema")
row("schema", "format_schema text_format:json_schema", either(open_object(), flag, phrase="a JSON Schema"),
    "JSON Schema of the answer.", required=True, example=[SCHEMA])
row("name", "format_schema text_format:json_schema", text(), "No effect.", ignored=True)
row("description", "format_schema text_format:json_schema", text(), "No effect.", ignored=True)
row("strict", "format_schema text_format:json_schema", flag, "No effect: the schema is always strict.", ignored=True)
row("format", "text", group("text_format"), "Text, any JSON object, or JSON by a schema.")
row("effort", "reasoning responses_reasoning", EFFORT, "The same as `reasoning_effort`.")
row("max_tokens", "reasoning responses_reasoning", BUDGET, "The same as `thinking_budget`.", extension=True)
row("enabled", "reasoning", flag, "The same as `enable_thinking`.")
row("exclude", "reasoning", only(False), "All reasoning is sent.")
row("summary", "responses_reasoning", SUMMARY, "No summaries: all reasoning is sent.")
row("generate_summary", "responses_reasoning", SUMMARY, "No summaries: all reasoning is sent.")
row("include_usage", "stream_options", flag, "A last event has the usage.", default=False)
row("include_obfuscation", "stream_options responses_stream_options", only(False), "No padding is sent.")

# ---- nested: items of /v1/responses ----
MESSAGE, CALL, OUTPUT = "message", "function_call custom_tool_call", "function_call_output custom_tool_call_output"
PARTS = either(text(), each(group("item_part")))
row("type", "item", words(MESSAGE, *CALL.split(), *OUTPUT.split(), "reasoning"), "Kind of item.", default=MESSAGE)
row("id", "item", anything, "No effect.", ignored=True, example=["msg_1"])
row("status", "item", anything, "No effect.", ignored=True, example=["completed"])
row("phase", "item", anything, "No effect.", ignored=True, when=MESSAGE, example=["final_answer"])
row("role", "item", words("system", "developer", "user", "assistant"), "Author; developer is the same as system.", required=True, when=MESSAGE,
    example=["assistant", "user"])
row("content", "item", PARTS, "Text or text parts.", required=True, when=MESSAGE, example=["Hi"])
row("call_id", "item", text(), "Name of the call.", required=True, when=f"{CALL} {OUTPUT}")
row("name", "item", text(), "Name of the function.", required=True, when=CALL)
row("arguments", "item", ARGUMENTS, "A JSON object or its text; empty text is {}.", when="function_call", example=[BONN])
row("input", "item", text(), "Argument of a custom tool.", when="custom_tool_call")
row("output", "item", either(text(), each(group("item_part")), open_object(), number(), flag), "Result of the call.",
    required=True, when=OUTPUT)
row("content", "item:reasoning", PARTS, "Reasoning.", example=["hm"])
row("summary", "item", PARTS, "Reasoning, if there is no content.", when="reasoning", example=[[]])
row("encrypted_content", "item", only(), "Not supported.", when="reasoning")
row("type", "item_part", words("input_text", "output_text", "reasoning_text", "summary_text", "text"), "Text only.", required=True,
    ignored=True)
row("annotations", "item_part", anything, "No effect: answers have it.", ignored=True, example=[[]])
row("logprobs", "item_part", anything, "No effect: answers have it.", ignored=True, example=[[]])
