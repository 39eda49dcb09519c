// ggufx set, unset, rename: a model with other keys or names, in its place or as a new file.
// SPDX-License-Identifier: MIT
#include "meta_json.hpp"
#include "meta_value.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

struct EditOptions {
    std::string file;
    std::vector<std::string> changes;
    std::string reserve;
    bool tensors = false;
    bool dry_run = false;
};

// One line of the preview: a key's value, empty types where there is none; without a key: a name.
struct Change {
    std::string key;
    std::string old_type, old_text;
    std::string new_type, new_text;
};

// The file, its copy to be, and what changes.
struct Edit {
    Runtime rt;
    File file;
    Writer writer;
    std::vector<Change> changes;
};

constexpr uint64_t kShown = 8; // elements of an array in the preview

static Edit begin(const Globals &globals, const EditOptions &options) {
    Edit edit;
    edit.rt = make_runtime(globals);
    edit.file = open_file(edit.rt.get(), options.file, GGUFX_OPEN_LEGACY_V1);
    if (globals.output == "-" && file_facts(edit.file.get()).n_parts > 1) {
        throw Failure(kUsage, options.file + ": is a set of files; write it as one with -o FILE");
    }
    const uint64_t reserve = options.reserve.empty() ? 0 : parse_size(options.reserve, "--reserve");
    edit.writer = make_writer(edit.rt.get(), edit.file.get(), reserve);
    call([&](ggufx_error *error) {
        return ggufx_writer_copy_meta(edit.writer.get(), edit.file.get(), error);
    });
    return edit;
}

static void copy_tensors(Edit &edit) {
    call([&](ggufx_error *error) {
        return ggufx_writer_copy_tensors(edit.writer.get(), edit.file.get(), error);
    });
}

static Change old_value(const ggufx_file *file, const std::string &key) {
    Change change;
    change.key = key;
    size_t index = 0;
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) == GGUFX_OK) {
        const ggufx_meta_entry entry = meta_entry(file, index);
        change.old_type = value_type_name(entry.type);
        if (entry.type == GGUFX_VALUE_ARRAY) {
            change.old_type = std::string(value_type_name(entry.element_type)) + "[]";
        }
        change.old_text = meta_value_text(file, index, kShown);
    }
    return change;
}

static void require_key(const ggufx_file *file, const std::string &key) {
    size_t index = 0;
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) == GGUFX_OK) return;
    std::vector<std::string> names;
    for (size_t i = 0; i < ggufx_file_meta_count(file); ++i) {
        const ggufx_meta_entry entry = meta_entry(file, i);
        names.emplace_back(entry.key, entry.key_length);
    }
    throw Failure(kRuntimeError, "no key \"" + escape(key) + "\"" + did_you_mean(key, names));
}

static std::string side(const std::string &type, const std::string &text, const char *nothing) {
    return type.empty() ? nothing : type + " " + shorten(text, 60);
}

static Json json_side(const std::string &type, const std::string &text) {
    if (type.empty()) return {};
    return {{"type", type}, {"text", json_bytes(text)}};
}

static Json change_json(const Change &change) {
    if (change.key.empty()) {
        return {{"old", json_bytes(change.old_text)}, {"new", json_bytes(change.new_text)}};
    }
    return {{"key", json_bytes(change.key)},
            {"old", json_side(change.old_type, change.old_text)},
            {"new", json_side(change.new_type, change.new_text)}};
}

static std::string change_line(const Change &change) {
    if (change.key.empty()) {
        return escape(change.old_text) + " -> " + escape(change.new_text) + "\n";
    }
    return fmt::format("{}: {} -> {}\n", escape(change.key),
                       side(change.old_type, change.old_text, "(absent)"),
                       side(change.new_type, change.new_text, "(removed)"));
}

static void print_result(const Globals &globals, const EditOptions &options, const Edit &edit,
                         const std::string &target, uint64_t n_bytes) {
    Output out("-", false);
    if (globals.json) {
        Json changes = Json::array();
        for (const Change &change : edit.changes) changes.push_back(change_json(change));
        Json line = json_object();
        line.update(Json{{"file", options.file},
                         {"output", target},
                         {"changes", changes},
                         {"bytes", n_bytes},
                         {"written", !options.dry_run}});
        print_json(out, line);
    } else if (!globals.quiet) {
        for (const Change &change : edit.changes) out.write(change_line(change));
        out.write(fmt::format("{}: {}{}\n", escape(target), bytes_text(n_bytes),
                              options.dry_run ? " (dry run: nothing was written)" : ""));
    }
    out.finish();
}

// In place (a new file takes the name at once), or to -o.
static int finish(const Globals &globals, const EditOptions &options, Edit &edit) {
    const bool in_place = globals.output == "-";
    const std::string target = in_place ? options.file : globals.output;
    const ggufx_writer_facts made = plan(edit.writer.get(), {});
    if (!options.dry_run) {
        if (!in_place) require_free(globals, target);
        write_model(globals, edit.writer.get(), target, {});
    }
    print_result(globals, options, edit, target, made.n_bytes);
    return kOk;
}

static int set(const Globals &globals, const EditOptions &options) {
    Edit edit = begin(globals, options);
    for (const std::string &argument : options.changes) {
        const MetaChange wanted = parse_change(edit.file.get(), argument);
        Change change = old_value(edit.file.get(), wanted.key);
        set_change(edit.writer.get(), wanted);
        change.new_type = change_type(wanted);
        change.new_text = wanted.text;
        edit.changes.push_back(change);
    }
    copy_tensors(edit);
    return finish(globals, options, edit);
}

static int unset(const Globals &globals, const EditOptions &options) {
    Edit edit = begin(globals, options);
    for (const std::string &key : options.changes) {
        require_key(edit.file.get(), key);
        call([&](ggufx_error *error) {
            return ggufx_writer_unset(edit.writer.get(), key.data(), key.size(), error);
        });
        edit.changes.push_back(old_value(edit.file.get(), key));
    }
    copy_tensors(edit);
    return finish(globals, options, edit);
}

struct NewName {
    std::string from, to;
    bool used = false;
};

static std::vector<NewName> new_names(const EditOptions &options) {
    std::vector<NewName> names;
    for (const std::string &argument : options.changes) {
        const size_t equals = argument.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
            throw Failure(kUsage, "\"" + escape(argument) + "\" is not OLD=NEW");
        }
        names.push_back({argument.substr(0, equals), argument.substr(equals + 1)});
    }
    return names;
}

static void rename_keys(Edit &edit, const std::vector<NewName> &names) {
    for (const NewName &name : names) {
        require_key(edit.file.get(), name.from);
        ggufx_error error;
        const ggufx_status status =
            ggufx_writer_rename(edit.writer.get(), name.from.data(), name.from.size(),
                                name.to.data(), name.to.size(), &error);
        if (status != GGUFX_OK) throw Failure(kUsage, error); // the new name does not do
    }
    copy_tensors(edit);
}

static void rename_tensors(Edit &edit, std::vector<NewName> &names) {
    for (size_t i = 0; i < ggufx_file_tensor_count(edit.file.get()); ++i) {
        const ggufx_tensor *tensor = ggufx_file_tensor(edit.file.get(), i);
        const ggufx_tensor_facts info = tensor_facts(tensor);
        std::string name(info.name, info.name_length);
        for (NewName &wanted : names) {
            if (wanted.from != std::string_view(info.name, info.name_length)) continue;
            name = wanted.to;
            wanted.used = true;
        }
        ggufx_error error;
        const ggufx_status status =
            ggufx_writer_add_tensor(edit.writer.get(), tensor, name.data(), name.size(), &error);
        const bool bad_name = status == GGUFX_E_DUPLICATE || status == GGUFX_E_NAME;
        if (status != GGUFX_OK) throw Failure(bad_name ? kUsage : exit_code(status), error);
    }
    for (const NewName &wanted : names) {
        if (!wanted.used) throw Failure(kRuntimeError, "no tensor \"" + escape(wanted.from) + "\"");
    }
}

static int rename(const Globals &globals, const EditOptions &options) {
    Edit edit = begin(globals, options);
    std::vector<NewName> names = new_names(options);
    if (options.tensors) {
        rename_tensors(edit, names);
    } else {
        rename_keys(edit, names);
    }
    for (const NewName &name : names) { edit.changes.push_back({"", "", name.from, "", name.to}); }
    return finish(globals, options, edit);
}

static void common(Command sub, EditOptions &options) {
    sub.option("--reserve", options.reserve, "room for later keys: 64K (key ggufx.reserve)");
    sub.flag("--dry-run", options.dry_run, "tell what would change");
}

void add_set(Tool &tool) {
    auto options = std::make_shared<EditOptions>();
    Command sub = tool.app.add_command("set", "set keys of a model, in its place or to -o FILE");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("CHANGE", options->changes,
               "KEY=VALUE, KEY:TYPE=VALUE (u32, f32, str, u32[] ...), "
               "KEY=@TEXTFILE")
        .required();
    common(sub, *options);
    sub.examples("  ggufx set model.gguf general.name=\"My model\" llama.context_length=8192\n"
                 "  ggufx set model.gguf tokenizer.chat_template=@chat.jinja -o new.gguf\n"
                 "  ggufx set model.gguf general.tags:str[]=chat,small --dry-run");
    tool.verbs.emplace_back(sub, [&tool, options] { return set(tool.globals, *options); });
}

void add_unset(Tool &tool) {
    auto options = std::make_shared<EditOptions>();
    Command sub = tool.app.add_command("unset", "remove keys of a model");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("KEY", options->changes, "keys to remove").required();
    common(sub, *options);
    sub.examples("  ggufx unset model.gguf general.url general.description");
    tool.verbs.emplace_back(sub, [&tool, options] { return unset(tool.globals, *options); });
}

void add_rename(Tool &tool) {
    auto options = std::make_shared<EditOptions>();
    Command sub = tool.app.add_command("rename", "give keys or tensors of a model other names");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("CHANGE", options->changes, "OLD=NEW").required();
    sub.flag("--tensors", options->tensors, "names of tensors, not of keys");
    common(sub, *options);
    sub.examples("  ggufx rename model.gguf general.nmae=general.name\n"
                 "  ggufx rename model.gguf --tensors output.weight=lm_head.weight -o new.gguf");
    tool.verbs.emplace_back(sub, [&tool, options] { return rename(tool.globals, *options); });
}

} // namespace ggufx::cli
