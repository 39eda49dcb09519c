// SPDX-License-Identifier: MIT
#include "serve/model_host.hpp"

#include "common/input_file.hpp"
#include "common/machine_memory.hpp"
#include "common/signals.hpp"
#include "models/demo_model.hpp"
#include "models/text_model.hpp"
#include "serve/cancel_if.hpp"
#include "serve/engine_thread.hpp"
#include "serve/preparation.hpp"
#include "serve/reply.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <ggufx/embed.h>
#include <map>

namespace ggufx::cli {

namespace {

// Reads a mapped file at the start, if half of the machine's memory holds it: first by its pages,
// which are huge then, and not by the samples of ModelFiles.
File open_served(const ggufx_runtime *rt, const HostOptions &options, const ModelFiles &files) {
    if (options.model.empty()) return open_demo_model(rt);
    const uint32_t populate = files.n_bytes() <= machine_memory() / 2 ? GGUFX_OPEN_POPULATE : 0;
    return open_model(rt, options.model, options.session.making, populate);
}

// Whether weights of the model or an adapter stay in their files.
bool is_mapped(const ggufx_file *file, const HostOptions &options) {
    const bool has_adapters = !adapter_files(options.session.adapters).empty();
    return file_memory(file).mapped_bytes > 0 ||
           (has_adapters && options.session.making.group.io() != GGUFX_IO_READ);
}

// Notes the model and its adapters, after an interrupted edit of them was completed.
std::unique_ptr<ModelFiles> note_files(const ggufx_runtime *rt, const HostOptions &options) {
    const bool is_stdin = options.model == "-";
    std::vector<std::string> paths = adapter_files(options.session.adapters);
    if (!is_stdin && !options.model.empty()) paths.push_back(options.model);
    for (const std::string &path : paths) try_to_recover(rt, path);
    if (is_stdin) paths.emplace_back("/dev/stdin");
    return std::make_unique<ModelFiles>(paths);
}

Session make_text_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                          const HostOptions &options, const Adapters &adapters) {
    auto of = sized<ggufx_session_options>();
    of.n_context = options.session.n_context;
    of.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    of.type_k = kv_type_from_name(options.session.type_k, "--ctk");
    of.type_v = kv_type_from_name(options.session.type_v, "--ctv");
    of.n_batch = options.n_batch;
    of.n_sequences = options.n_parallel + options.n_kept;
    Session session = make_session(rt, file, model, of, options.session.making.group.n_ranks());
    adapters.give_to(session.get());
    return session;
}

// FNV-1a over 64-bit words.
struct Hash {
    uint64_t value = 14695981039346656037u;
    void add(const void *bytes, size_t n) {
        const auto *at = static_cast<const unsigned char *>(bytes);
        for (size_t i = 0; i < n; i++) value = (value ^ at[i]) * 1099511628211u;
    }
    void add(uint64_t number) { add(&number, sizeof number); }
    void add(std::string_view text) {
        add(text.size());
        add(text.data(), text.size());
    }
};

} // namespace

void refuse_call(ggufx_status status, const ggufx_error &error, const char *param) {
    if (status == GGUFX_E_CANCELLED)
        throw ApiError(
            400,
            fmt::format("{}: its preparation takes more than {} seconds of processor time", param,
                        Preparation::kMostSeconds),
            param, "too_much_work");
    const bool ours = status == GGUFX_E_MEMORY;
    throw ApiError(ours ? 503 : 400, error.message, param, "invalid_value");
}

ModelHost::ModelHost(const Globals &globals, const HostOptions &options)
    : rt_(make_runtime(globals)), answers_(options.answers) {
    files_ = note_files(rt_.get(), options);
    file_ = open_served(rt_.get(), options, *files_);
    name_ = options.alias;
    if (name_.empty()) name_ = meta_text(file_.get(), "general.name").value_or("");
    if (name_.empty()) name_ = options.model.empty() ? "demo" : base_name(options.model);
    // Before the weights are bound, so that template errors are reported early.
    chat_ = open_chat_template(rt_.get(), file_.get(), options.template_name);
    if (chat_) chat_facts_ = chat_facts(chat_.get());
    tokenizer_ = make_tokenizer(file_.get());
    tokenizer_facts_ = cli::tokenizer_facts(tokenizer_.get());
    pairs_ = std::make_unique<PairMaker>(rt_.get(), file_.get(), tokenizer_.get());
    model_ = make_model(rt_.get(), file_.get(), options.session.making);
    adapters_ = Adapters(rt_.get(), model_.get(), options.session.adapters);
    facts_ = model_facts(model_.get());
    model_sampling_ = cli::model_sampling(file_.get());
    use_model_sampling(globals, sampling_, model_sampling_);
    embeds_only_ = (facts_.flags & GGUFX_MODEL_EMBEDDING_ONLY) != 0;
    if (options.embeddings ||
        (facts_.flags & (GGUFX_MODEL_EMBEDDING_ONLY | GGUFX_MODEL_EMBEDS)) != 0)
        make_embedder(options);
    if (!embeds_only_) make_session(options);
    if (!embeds_only_) find_longest_token();
    if (!embeds_only_ && chat_) prepare_chats();
    make_fingerprint(options);
    files_->loaded(is_mapped(file_.get(), options));
    if (backend_) backend_->watch(*files_);
    const GroupChoice &choice = options.session.making.group;
    if (choice.is_set()) meet_at_start(choice.group);
}

RankHost::RankHost(const Globals &globals, const HostOptions &options)
    : rt_(make_runtime(globals)), group_(options.session.making.group.group),
      files_(note_files(rt_.get(), options)) {
    file_ = open_served(rt_.get(), options, *files_);
    model_ = make_model(rt_.get(), file_.get(), options.session.making);
    Session session =
        make_text_session(rt_.get(), file_.get(), model_.get(), options,
                          Adapters(rt_.get(), model_.get(), options.session.adapters));
    backend_ = std::make_unique<RankSession>(std::move(session), model_facts(model_.get()).n_vocab,
                                             nullptr);
    files_->loaded(is_mapped(file_.get(), options));
    backend_->watch(*files_);
    meet_at_start(group_);
}

void RankHost::follow() {
    cli::follow(group_, *backend_);
}

void ModelHost::require_same_weights() const {
    if (files_->is_changed()) throw ApiError(503, ModelFiles::kChanged, "", "model_changed");
}

// The template finds the special tokens of outputs with its first prompt, which takes time.
void ModelHost::prepare_chats() const {
    ChatWanted wanted;
    wanted.messages = R"([{"role":"user","content":"a"}])";
    try {
        (void)prompt_of(wanted, 0);
    } catch (const ApiError &) {} // the template wants another conversation
}

void ModelHost::find_longest_token() {
    for (uint32_t i = 0; i < facts_.n_vocab; i++) {
        const auto info =
            cli::facts<ggufx_token_facts>([&](ggufx_token_facts *out, ggufx_error *e) {
                return ggufx_token_info(out, tokenizer_.get(), static_cast<int32_t>(i), e);
            });
        longest_token_ = std::max(longest_token_, info.text.size);
    }
}

void ModelHost::make_embedder(const HostOptions &options) {
    auto of = sized<ggufx_embed_options>();
    of.n_context = options.session.n_context;
    of.flags = GGUFX_EMBED_NORMALIZE;
    ggufx_embedder_facts info;
    embedder_ = cli::make_embedder(model_.get(), of, info);
    adapters_.give_to(embedder_.get());
    dimensions_ = info.dimensions;
    ranks_ = info.pooling == GGUFX_POOLING_RANK;
    n_embed_context_ = info.n_context;
    if (embeds_only_) n_context_ = info.n_context;
}

void ModelHost::make_session(const HostOptions &options) {
    Session session = make_text_session(rt_.get(), file_.get(), model_.get(), options, adapters_);
    const GroupChoice &choice = options.session.making.group;
    if (choice.is_set())
        backend_ = std::make_unique<RankSession>(std::move(session), facts_.n_vocab,
                                                 std::make_unique<RankBroadcaster>(choice.group));
    else
        backend_ = std::make_unique<SessionBackend>(std::move(session));
    session_ = backend_->session();
    n_context_ = backend_->facts().n_context;
}

// Hashes all that determines an answer besides the request: the library, the compute path, cache
// types, and the model file. The file counts by tensor names, shapes and samples: hashing gigabytes
// would delay the first answer.
void ModelHost::make_fingerprint(const HostOptions &options) {
    constexpr uint64_t sample = 4096; // sampled bytes at each end of a tensor
    Hash hash;
    hash.add(std::string_view(ggufx_version()));
    hash.add(static_cast<uint64_t>(options.answers));
    if (!embeds_only_) {
        hash.add(kv_type_from_name(options.session.type_k, "--ctk"));
        hash.add(kv_type_from_name(options.session.type_v, "--ctv"));
    }
    for (const std::string &change : options.session.making.overrides) hash.add(change);
    for (const ggufx_adapter_use &use : adapters_.uses()) {
        const auto info =
            cli::facts<ggufx_adapter_facts>([&](ggufx_adapter_facts *out, ggufx_error *error) {
                return ggufx_adapter_info(out, use.adapter, error);
            });
        hash.add(info.fingerprint);
        hash.add(std::bit_cast<uint32_t>(use.scale));
    }
    std::map<uint32_t, uint64_t> bytes; // tensor bytes per type
    for (size_t i = 0; i < ggufx_file_tensor_count(file_.get()); i++) {
        const ggufx_tensor *const tensor = ggufx_file_tensor(file_.get(), i);
        const ggufx_tensor_facts facts = tensor_facts(tensor);
        hash.add(view(facts.name));
        hash.add(facts.type);
        bytes[facts.type] += facts.n_bytes;
        for (const uint64_t n : facts.ne) hash.add(n);
        const auto *const data = static_cast<const char *>(ggufx_tensor_data(tensor));
        if (!data) continue;
        const uint64_t n = std::min(facts.n_bytes, sample);
        hash.add(data, n);
        hash.add(data + facts.n_bytes - n, n);
    }
    const auto most =
        std::max_element(bytes.begin(), bytes.end(),
                         [](const auto &a, const auto &b) { return a.second < b.second; });
    quantization_ = most == bytes.end() ? "" : type_name(most->first);
    fingerprint_ = fmt::format("fp_{:016x}", hash.value);
}

// ---- texts and ids ----

std::vector<int32_t> ModelHost::tokenize(const std::string &text, uint32_t flags) const {
    return cli::tokenize(tokenizer_.get(), text, flags);
}

std::string ModelHost::detokenize(std::span<const int32_t> ids, uint32_t flags) const {
    std::string out(16 * ids.size() + 64, '\0'); // longer than most texts
    ggufx_error error;
    const ggufx_status status = fill_room(out, error, [&](size_t *needed, ggufx_error *e) {
        return ggufx_detokenize(out.data(), out.size(), needed, tokenizer_.get(), ids.data(),
                                ids.size(), flags, e);
    });
    if (status != GGUFX_OK) refuse_call(status, error, "tokens");
    return out;
}

void ModelHost::require_room(size_t n_bytes, const char *param) const {
    if (n_bytes / std::max<size_t>(longest_token_, 1) < n_context_) return;
    throw ApiError(400,
                   fmt::format("{}: {} bytes are more than {} tokens of the context can hold",
                               param, n_bytes, n_context_),
                   param, "context_length_exceeded");
}

std::string ModelHost::piece(int32_t id) const {
    return detokenize({&id, 1}, GGUFX_DETOKENIZE_KEEP_SPECIAL | GGUFX_DETOKENIZE_KEEP_SPACE);
}

std::string ModelHost::detokenize_part(std::span<const int32_t> ids, ggufx_detokenizer_state &state,
                                       uint32_t flags) const {
    std::string out;
    ggufx_error error;
    state.flags = flags;
    const ggufx_status status = fill_room(out, error, [&](size_t *needed, ggufx_error *e) {
        return ggufx_detokenize_stream(out.data(), out.size(), needed, &state, tokenizer_.get(),
                                       ids.data(), ids.size(), e);
    });
    if (status != GGUFX_OK) refuse_call(status, error, "tokens");
    return out;
}

void ModelHost::check(const std::vector<int32_t> &ids, const std::string &param) const {
    for (const int32_t id : ids) {
        if (static_cast<uint32_t>(id) < facts_.n_vocab) continue;
        throw ApiError(400,
                       fmt::format("{}: token {} is not in the vocabulary of {} tokens", param, id,
                                   facts_.n_vocab),
                       param, "invalid_value");
    }
}

// ---- conversations ----

namespace {

// `variables`: storage for the template variables, which the request points into.
ggufx_chat_request request_of(const ChatWanted &wanted, std::string &variables) {
    ggufx_chat_request request = chat_request();
    request.progress = Preparation::progress();
    if (const RequestMemory *const memory = Preparation::memory()) {
        request.max_memory = memory->of_template();
        request.max_output = memory->of_prompt();
    }
    if (wanted.opens_turn) request.flags |= GGUFX_CHAT_GENERATE;
    if (wanted.continues) request.flags |= GGUFX_CHAT_CONTINUE;
    if (wanted.thinks) request.flags |= *wanted.thinks ? GGUFX_CHAT_THINK : GGUFX_CHAT_NO_THINK;
    request.messages_json = as_text(wanted.messages);
    request.tools = as_text(wanted.tools);
    if (wanted.variables.size() > 0) {
        variables = wanted.variables.dump();
        request.variables = as_text(variables);
    }
    request.reasoning_effort = as_text(wanted.reasoning_effort);
    return request;
}

} // namespace

std::string ModelHost::render(const ChatWanted &wanted) const {
    if (!chat_)
        throw ApiError(400, "the model has no chat template (use --template of the server)", "",
                       "no_template");
    std::string variables;
    const ggufx_chat_request request = request_of(wanted, variables);
    std::string out;
    ggufx_error error;
    const ggufx_status status = fill_room(out, error, [&](size_t *needed, ggufx_error *e) {
        return ggufx_chat_template_render(out.data(), out.size(), needed, chat_.get(), &request, e);
    });
    if (status != GGUFX_OK) refuse_call(status, error, "messages");
    return out;
}

// Detects templates that ignore tools: the model would silently not see them. A template that fails
// without tools uses them.
bool ModelHost::renders_tools(const ChatWanted &wanted, const std::string &rendered) const {
    ChatWanted without = wanted;
    without.tools.clear();
    try {
        return render(without) != rendered;
    } catch (const ApiError &) { return true; }
}

void ModelHost::require_tools(const ChatWanted &wanted, const std::string &rendered) const {
    if (!renders_tools(wanted, rendered))
        throw ApiError(400, "the chat template of the model does not support tools", "tools",
                       "unsupported");
    if ((chat_facts_.flags & GGUFX_CHAT_CALLS) == 0)
        throw ApiError(400,
                       "the chat template of the model does not show how its tool calls are "
                       "written (use --template of the server)",
                       "tools", "unsupported");
}

namespace {

// The forced functions as tools, with the schemas that grammars are made of.
std::string tools_of(const std::vector<Callable> &functions) {
    Json out = Json::array();
    for (const Callable &one : functions)
        out.push_back(Json{{"name", one.name}, {"parameters", parse_json(one.schema, "tools")}});
    return out.dump();
}

// Gives the library the grammars of a request. The errors are those of a client.
class RequestGrammars {
public:
    RequestGrammars(SchemaCompiler &compiler) : compiler_(compiler) {
        source_.user = this;
        source_.find = [](void *user, const ggufx_grammar **out, const char *schema, size_t n,
                          const char *function, size_t n_function) {
            return static_cast<RequestGrammars *>(user)->find(*out, {schema, n},
                                                              {function, n_function});
        };
    }
    const ggufx_grammar_source *source() const { return &source_; }
    void require() const { // throws the error of the latest schema
        if (error_) std::rethrow_exception(error_);
    }

private:
    ggufx_status find(const ggufx_grammar *&out, const std::string &schema,
                      const std::string &function) noexcept {
        error_ = nullptr;
        try {
            const char *const param = function.empty() ? "response_format" : "tools";
            found_.push_back(compiler_.of_schema(schema, {param, function}));
            out = found_.back()->handle.get();
            return GGUFX_OK;
        } catch (const ApiError &error) {
            error_ = std::current_exception();
            if (error.status != 400) return GGUFX_E_MEMORY;
            return error.code == SchemaCompiler::kTooMuch ? GGUFX_E_CANCELLED : GGUFX_E_UNSUPPORTED;
        } catch (const std::bad_alloc &) { return GGUFX_E_MEMORY; }
    }

    SchemaCompiler &compiler_;
    ggufx_grammar_source source_ = sized<ggufx_grammar_source>();
    std::vector<SharedGrammar> found_; // until the prompt has them
    std::exception_ptr error_;
};

} // namespace

SharedPrompt ModelHost::prompt_of(const ChatWanted &wanted, uint64_t asker) const {
    const std::string text = render(wanted);
    require_room(text.size(), "messages");
    if (!wanted.tools.empty()) require_tools(wanted, text);
    std::string variables;
    const ggufx_chat_request request = request_of(wanted, variables);
    const bool is_forced = !wanted.forced.empty();
    size_t n_bytes = is_forced ? 0 : wanted.schema.size();
    for (const Callable &function : wanted.forced) n_bytes += function.schema.size();
    SchemaCompiler compiler(grammars_, tokenizer_.get(), asker, wanted.sampling.grammar_flags,
                            n_bytes);
    RequestGrammars grammars(compiler);
    const std::string tools = is_forced ? tools_of(wanted.forced) : "", id = random_name(9);
    auto options = sized<ggufx_chat_prompt_options>();
    if (wanted.keeps_reasoning) options.flags |= GGUFX_CHAT_PROMPT_KEEP_REASONING;
    if (!wanted.parallel_calls) options.flags |= GGUFX_CHAT_PROMPT_ONE_CALL;
    options.chat = chat_.get();
    options.tokenizer = tokenizer_.get();
    options.request = &request;
    options.grammars = grammars.source();
    if (is_forced) {
        options.tool_choice = GGUFX_TOOL_CHOICE_REQUIRED;
        options.tools = as_text(tools);
        options.call_id = as_text(id);
        if (wanted.forced[0].is_named) options.tool_name = as_text(wanted.forced[0].name);
    } else if (wanted.form != AnswerForm::text) {
        options.schema = as_text(wanted.schema);
    }
    ggufx_chat_prompt *out = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_chat_prompt_create(&out, &options, &error);
    if (status != GGUFX_OK) grammars.require();
    if (status == GGUFX_E_UNSUPPORTED && !is_forced && options.schema.data)
        throw ApiError(400,
                       "response_format with tools needs a chat template whose tool calls begin "
                       "with a marker",
                       "response_format", "unsupported");
    if (status != GGUFX_OK) refuse_call(status, error, "messages");
    return {out, ggufx_chat_prompt_destroy};
}

std::vector<int32_t> ModelHost::ids_of(const ggufx_chat_prompt &prompt) const {
    std::vector<int32_t> out;
    ggufx_error error;
    const ggufx_status status = fill_room(out, error, [&](size_t *needed, ggufx_error *e) {
        return ggufx_chat_prompt_tokens(out.data(), out.size(), needed, &prompt, e);
    });
    if (status != GGUFX_OK) refuse_call(status, error, "messages");
    return out;
}

std::vector<float> ModelHost::embed(std::span<const std::vector<int32_t>> texts,
                                    const std::function<bool()> &is_gone) {
    std::vector<ggufx_token_list> lists;
    for (const auto &text : texts) lists.push_back({text.data(), text.size()});
    std::vector<float> out(texts.size() * dimensions_);
    const std::function<bool()> ends = [&] {
        return is_gone() || !files_->is_intact(monotonic_seconds());
    };
    const ggufx_progress progress = cancel_if(ends);
    ggufx_error error;
    const ggufx_status status = ggufx_embed(out.data(), out.size(), embedder_.get(), lists.data(),
                                            lists.size(), &progress, &error);
    require_same_weights(); // else the values mean nothing
    if (status == GGUFX_E_CANCELLED) throw ApiError(503, "cancelled");
    if (status == GGUFX_E_ARGUMENT || status == GGUFX_E_MEMORY) refuse_call(status, error, "input");
    if (status != GGUFX_OK) throw ApiError(500, error.message);
    return out;
}

} // namespace ggufx::cli
