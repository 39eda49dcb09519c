// ggufx set, unset, rename: changes keys or tensor names of a model, in place or in a new file.
// SPDX-License-Identifier: MIT
#include "common/progress.hpp"
#include "common/size.hpp"
#include "common/text.hpp"
#include "edit/edit_result.hpp"
#include "edit/meta_value.hpp"
#include "models/meta_json.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct EditOptions {
    std::string file;
    std::vector<std::string> changes;
    std::string reserve;
    bool tensors = false;
    bool dry_run = false;
};

// The file, a writer for its changed copy, and the list of changes.
struct Edit {
    Runtime rt;
    File file;
    FileWriter writer;
    std::vector<KeyChange> changes;
    bool recovered = false; // an interrupted edit was finished first
};

} // namespace

static Edit begin(const Globals &globals, const EditOptions &options) {
    Edit edit;
    if (globals.output == "-") throw Failure(kUsage, "-o must be a file, not a pipe");
    if (options.file == "-")
        throw Failure(kUsage, "FILE must be a file: standard input cannot be edited");
    edit.rt = make_runtime(globals);
    int32_t recovered = 0;
    call([&](ggufx_error *error) {
        return ggufx_file_recover_edit(&recovered, edit.rt.get(), options.file.c_str(), error);
    });
    edit.recovered = recovered != 0;
    if (edit.recovered && !globals.json && !globals.quiet) {
        fmt::print(stderr, "ggufx: an interrupted edit of {} was completed first\n",
                   in_quotes(options.file));
    }
    edit.file = open_file(edit.rt.get(), options.file, GGUFX_OPEN_LEGACY_V1);
    if (globals.output.empty() && file_facts(edit.file.get()).n_parts > 1) {
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

static KeyChange old_value(const ggufx_file *file, const std::string &key) {
    KeyChange change;
    change.key = key;
    size_t index = 0;
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) == GGUFX_OK) {
        const ggufx_meta_facts entry = meta_entry(file, index);
        change.old_type = value_type_name(entry.type);
        if (entry.type == GGUFX_VALUE_ARRAY) {
            change.old_type = std::string(value_type_name(entry.element_type)) + "[]";
        }
        change.old_text = meta_value_text(file, index, kShownElements);
    }
    return change;
}

static void require_key(const ggufx_file *file, const std::string &key) {
    size_t index = 0;
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) == GGUFX_OK) return;
    std::vector<std::string> names;
    for (size_t i = 0; i < ggufx_file_meta_count(file); i++) {
        const ggufx_meta_facts entry = meta_entry(file, i);
        names.emplace_back(view(entry.key));
    }
    throw Failure(kRuntimeError, "no key \"" + escape(key) + "\"" + did_you_mean(key, names));
}

static EditResult result_of(const ggufx_edit_facts &facts) {
    return {facts.n_bytes, facts.n_written, facts.reserve_bytes, facts.in_place != 0, false};
}

// Edits the model itself: in place if possible, else a new file replaces it atomically.
static EditResult edit_model(const Globals &globals, const EditOptions &options, const Edit &edit) {
    Progress progress(globals, "write");
    const ggufx_progress hook = progress.hook();
    auto how = sized<ggufx_edit_options>();
    how.progress = &hook;
    return result_of(facts<ggufx_edit_facts>([&](ggufx_edit_facts *out, ggufx_error *error) {
        return options.dry_run
                   ? ggufx_writer_edit_info(out, edit.writer.get(), edit.file.get(), &how, error)
                   : ggufx_writer_edit(out, edit.writer.get(), edit.file.get(),
                                       options.file.c_str(), &how, error);
    }));
}

// Writes another file, always completely.
static EditResult write_copy(const Globals &globals, const EditOptions &options, const Edit &edit) {
    EditResult result = {};
    result.n_bytes = plan(edit.writer.get(), {}).n_bytes;
    if (options.dry_run) return result;
    require_free(globals, globals.output);
    write_model(globals, edit.writer.get(), globals.output, {});
    result.n_written = result.n_bytes;
    return result;
}

static int finish(const Globals &globals, const EditOptions &options, Edit &edit) {
    const bool own = globals.output.empty();
    EditResult result =
        own ? edit_model(globals, options, edit) : write_copy(globals, options, edit);
    result.recovered = edit.recovered;
    print_result(globals, options.file, own ? options.file : globals.output, edit.changes, result,
                 options.dry_run);
    return kOk;
}

static int set(const Globals &globals, const EditOptions &options) {
    Edit edit = begin(globals, options);
    for (const std::string &argument : options.changes) {
        const MetaChange wanted = parse_change(edit.file.get(), argument);
        KeyChange change = old_value(edit.file.get(), wanted.key);
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

namespace {

struct NewName {
    std::string from, to;
    bool used = false;
};

} // namespace

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
        if (status != GGUFX_OK) throw Failure(kUsage, error); // invalid new name
    }
    copy_tensors(edit);
}

static void rename_tensors(Edit &edit, std::vector<NewName> &names) {
    for (size_t i = 0; i < ggufx_file_tensor_count(edit.file.get()); i++) {
        const ggufx_tensor *tensor = ggufx_file_tensor(edit.file.get(), i);
        const ggufx_tensor_facts info = tensor_facts(tensor);
        std::string name(view(info.name));
        for (NewName &wanted : names) {
            if (wanted.from != view(info.name)) continue;
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
    sub.option("--reserve", options.reserve, "reserve room for later keys: 64K (key ggufx.reserve)")
        .value("SIZE");
    sub.flag("--dry-run", options.dry_run, "print the changes only");
}

void add_set(Tool &tool) {
    auto options = std::make_shared<EditOptions>();
    Command sub =
        tool.app.add_command("set", "set metadata keys of a model, in place or to -o FILE");
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
    Command sub = tool.app.add_command("unset", "remove metadata keys of a model");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("KEY", options->changes, "keys to remove").required();
    common(sub, *options);
    sub.examples("  ggufx unset model.gguf general.url general.description");
    tool.verbs.emplace_back(sub, [&tool, options] { return unset(tool.globals, *options); });
}

void add_rename(Tool &tool) {
    auto options = std::make_shared<EditOptions>();
    Command sub = tool.app.add_command("rename", "rename metadata keys or tensors of a model");
    sub.option("FILE", options->file, "GGUF file").required();
    sub.option("CHANGE", options->changes, "OLD=NEW").required();
    sub.flag("--tensors", options->tensors, "rename tensors instead of keys");
    common(sub, *options);
    sub.examples("  ggufx rename model.gguf general.nmae=general.name\n"
                 "  ggufx rename model.gguf --tensors output.weight=lm_head.weight -o new.gguf");
    tool.verbs.emplace_back(sub, [&tool, options] { return rename(tool.globals, *options); });
}

} // namespace ggufx::cli
