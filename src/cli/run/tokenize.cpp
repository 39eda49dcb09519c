// ggufx tokenize: converts text to token ids of a model's vocabulary, or ids to text.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "models/text_model.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct TokenizeVerb {
    std::string model, text, file, ids;
    bool parse = false, bare = false, count = false, only_ids = false;
};

struct Piece {
    int32_t id;
    uint32_t flags;    // GGUFX_TOKEN_* flags
    std::string bytes; // bytes of the text; a control token's name
};

} // namespace

static std::vector<Piece> pieces_of(const ggufx_tokenizer *tokenizer,
                                    const std::vector<int32_t> &ids) {
    std::vector<Piece> out;
    for (const int32_t id : ids) {
        const auto info = facts<ggufx_token_facts>([&](ggufx_token_facts *of, ggufx_error *error) {
            return ggufx_token_info(of, tokenizer, id, error);
        });
        const uint32_t flags = GGUFX_DETOKENIZE_KEEP_SPACE | GGUFX_DETOKENIZE_KEEP_SPECIAL;
        out.push_back({id, info.flags, detokenize(tokenizer, {&id, 1}, flags)});
    }
    return out;
}

static const char *kind_name(uint32_t flags) {
    if (flags & GGUFX_TOKEN_EOG) return "end";
    if (flags & GGUFX_TOKEN_CONTROL) return "control";
    if (flags & GGUFX_TOKEN_UNKNOWN) return "unknown";
    if (flags & GGUFX_TOKEN_USER_DEFINED) return "user";
    if (flags & GGUFX_TOKEN_BYTE) return "byte";
    return flags & GGUFX_TOKEN_UNUSED ? "unused" : "";
}

// Prints the pieces one after the other in two alternating colours; control tokens are dim.
static void print_coloured(Output &out, const Style &style, const std::vector<Piece> &pieces) {
    bool odd = false;
    std::string text;
    for (const Piece &piece : pieces) {
        const bool special = (piece.flags & (GGUFX_TOKEN_CONTROL | GGUFX_TOKEN_UNKNOWN)) != 0;
        text += special ? style.dim : odd ? style.accent : style.bold;
        text += escape(piece.bytes);
        text += style.reset;
        odd = !odd;
    }
    out.write(text + "\n\n");
}

static void print_pieces(Output &out, const Globals &globals, const std::vector<Piece> &pieces) {
    const Style style = make_style(globals, out);
    if (out.is_terminal()) print_coloured(out, style, pieces);
    Table table({">id", "piece", ">bytes", "kind"});
    for (const Piece &piece : pieces)
        table.row({std::to_string(piece.id), in_quotes(piece.bytes),
                   std::to_string(piece.bytes.size()), kind_name(piece.flags)});
    table.print(out, style);
}

static void print_json_pieces(Output &out, const ggufx_tokenizer *tokenizer, size_t n_bytes,
                              const std::vector<Piece> &pieces) {
    const ggufx_tokenizer_facts info = tokenizer_facts(tokenizer);
    Json line = json_object(), ids = Json::array(), list = Json::array();
    for (const Piece &piece : pieces) {
        ids.push_back(piece.id);
        Json of = Json::object();
        of["id"] = piece.id;
        of["piece"] = json_bytes(piece.bytes);
        of["bytes"] = piece.bytes.size();
        of["kind"] = kind_name(piece.flags);
        list.push_back(std::move(of));
    }
    line["vocabulary"] = info.kind;
    line["pre"] = info.pre ? Json(info.pre) : Json();
    line["n_vocabulary"] = info.n_tokens;
    line["n_tokens"] = pieces.size();
    line["n_bytes"] = n_bytes;
    line["ids"] = std::move(ids);
    line["pieces"] = std::move(list);
    print_json(out, line);
}

static int tokenize_verb(const Globals &globals, const TokenizeVerb &options) {
    if (options.text.empty() && options.file.empty() && options.ids.empty())
        throw Failure(kUsage, "no text: give --prompt, --file or --ids");
    const Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(rt.get(), options.model, GGUFX_OPEN_METADATA_ONLY, &cancel);
    const Tokenizer tokenizer = make_tokenizer(file.get());

    std::vector<int32_t> ids;
    std::string text;
    if (options.ids.empty()) {
        text = options.file.empty() ? options.text : read_text(options.file);
        uint32_t flags = options.bare ? 0 : GGUFX_TOKENIZE_ADD_SPECIAL;
        if (options.parse) flags |= GGUFX_TOKENIZE_PARSE_SPECIAL;
        ids = tokenize(tokenizer.get(), text, flags);
    } else {
        ids = parse_ids(options.ids, "--ids");
        text = detokenize(tokenizer.get(), ids, 0);
    }
    Output out(globals);
    if (globals.json) {
        print_json_pieces(out, tokenizer.get(), text.size(), pieces_of(tokenizer.get(), ids));
    } else if (options.count) {
        out.write(fmt::format("{}\n", ids.size()));
    } else if (options.only_ids) {
        out.write(fmt::format("{}\n", fmt::join(ids, ",")));
    } else if (!options.ids.empty()) {
        out.write(out.is_terminal() ? escape_controls(text) + "\n" : text);
    } else {
        print_pieces(out, globals, pieces_of(tokenizer.get(), ids));
    }
    out.finish();
    return kOk;
}

void add_tokenize(Tool &tool) {
    auto options = std::make_shared<TokenizeVerb>();
    Command sub = tool.app.add_command("tokenize", "convert text to token ids, and back");
    sub.option("MODEL", options->model, "GGUF file").required();
    Option text = sub.option("-p,--prompt", options->text, "text to tokenize");
    Option file =
        sub.option("-f,--file", options->file, "read the text from FILE (- = stdin)").value("FILE");
    Option ids =
        sub.option("--ids", options->ids, "token ids to detokenize instead, 1,2,3").value("IDS");
    text.excludes(file).excludes(ids);
    file.excludes(ids);
    sub.flag("--parse-special", options->parse, "parse special tokens in the text, such as <s>");
    sub.flag("--bare", options->bare, "add no special tokens at the start and the end");
    sub.flag("--count", options->count, "print the number of tokens only");
    sub.flag("--only-ids", options->only_ids,
             "print the token ids only, 1,2,3, as run --tokens takes them");
    sub.examples("  ggufx tokenize model.gguf -p \"Once upon a time\"\n"
                 "  ggufx tokenize model.gguf -f prompt.txt --count\n"
                 "  ggufx tokenize model.gguf --ids 1,403,407");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return tokenize_verb(tool.globals, *options); });
}

} // namespace ggufx::cli
