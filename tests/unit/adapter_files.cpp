// Implementation of adapter_files.hpp.
// SPDX-License-Identifier: MIT
#include "adapter_files.hpp"

#include "rewrite.hpp"
#include "weight_calls.h"

#include <math.h>
#include <string.h>

#include <deque>

namespace {

ggufx_status append(void *user, uint32_t, const void *data, size_t n) {
    static_cast<std::string *>(user)->append(static_cast<const char *>(data), n);
    return GGUFX_OK;
}

// Builder of a file with tensors of random values.
class Maker {
public:
    explicit Maker(uint64_t seed) : random_{seed * 77 + 1} {
        ggufx_error error;
        must(ggufx_writer_create(&writer_, g_runtime, nullptr, &error), error, "writer");
    }
    Maker(const Maker &) = delete;
    ~Maker() { ggufx_writer_destroy(writer_); }

    void text(const std::string &key, const std::string &value) {
        ggufx_error error;
        must(ggufx_writer_set_string(writer_, key.data(), key.size(), value.data(), value.size(),
                                     &error),
             error, key.c_str());
    }
    void number(const std::string &key, double value) {
        ggufx_error error;
        must(ggufx_writer_set_f64(writer_, key.data(), key.size(), GGUFX_VALUE_F32, value, &error),
             error, key.c_str());
    }
    void tensor(const std::string &name, uint32_t type, const std::vector<uint64_t> &ne,
                double size) {
        uint64_t n_rows = 1, row_bytes = 0;
        for (size_t i = 1; i < ne.size(); i++) n_rows *= ne[i];
        std::vector<float> values(n_rows * ne[0]);
        for (float &value : values)
            value =
                static_cast<float>((static_cast<double>(random_.below(20001)) / 1e4 - 1) * size);
        ggufx_error error;
        must(ggufx_type_row_bytes(&row_bytes, type, ne[0], &error), error, name.c_str());
        data_.emplace_back(n_rows * row_bytes);
        if (type == GGUFX_TYPE_F32)
            memcpy(data_.back().data(), values.data(), data_.back().size());
        else
            must(quantize_rows(data_.back().data(), data_.back().size(), g_runtime, type,
                               values.data(), n_rows, ne[0], nullptr, &error),
                 error, name.c_str());
        ggufx_tensor *wrapped = nullptr;
        must(tensor_of(&wrapped, g_runtime, type, static_cast<uint32_t>(ne.size()), ne.data(), 0,
                       data_.back().data(), data_.back().size(), name.c_str(), nullptr, nullptr,
                       &error),
             error, name.c_str());
        must(ggufx_writer_add_tensor(writer_, wrapped, nullptr, 0, &error), error, name.c_str());
        ggufx_tensor_destroy(wrapped);
    }
    std::string bytes() {
        std::string out;
        ggufx_error error;
        must(ggufx_writer_write_stream(writer_, append, &out, nullptr, &error), error, "write");
        return out;
    }

private:
    Random random_;
    ggufx_writer *writer_ = nullptr;
    std::deque<std::vector<unsigned char>> data_;
};

std::string architecture_of(const ggufx_file *file) {
    constexpr char key[] = "general.architecture";
    size_t index = 0;
    ggufx_text text = {};
    ggufx_error error;
    must(ggufx_file_meta_find(&index, file, key, sizeof key - 1, &error), error, key);
    must(ggufx_file_meta_string(&text, file, index, &error), error, key);
    return {text.data, text.size};
}

} // namespace

bool is_matrix(const std::string &name, const std::vector<uint64_t> &ne) {
    if (ne.size() < 2 || name.find(".weight") == std::string::npos) return false;
    for (const char *part : {"norm", "conv", "nextn", "token_types", "rope_f"})
        if (name.find(part) != std::string::npos) return false;
    return true;
}

std::string lora_bytes(const ggufx_file *model, const LoraShape &shape) {
    Maker maker(shape.seed);
    maker.text("general.architecture", architecture_of(model));
    maker.text("general.type", "adapter");
    maker.text("adapter.type", "lora");
    if (shape.alpha != 0) maker.number("adapter.lora.alpha", shape.alpha);
    for (const TensorShape &t : tensors_of(model)) {
        if (!is_matrix(t.name, t.ne) || t.name.find(shape.only) == std::string::npos) continue;
        std::vector<uint64_t> a = {t.ne[0], shape.rank}, b = {shape.rank, t.ne[1]};
        if (t.name == "token_embd.weight" && shape.by_rows) {
            a = {shape.rank, t.ne[1]};
            b = {shape.rank, t.ne[0]};
        }
        if (t.ne.size() > 2) {
            b.push_back(t.ne[2]);
            if (!shape.one_a) a.push_back(t.ne[2]);
        }
        const auto type = [&](const std::vector<uint64_t> &ne) {
            return ne[0] % 32 ? uint32_t{GGUFX_TYPE_F16} : shape.type;
        };
        maker.tensor(t.name + ".lora_a", type(a), a, 1.7 / sqrt(static_cast<double>(t.ne[0])));
        maker.tensor(t.name + ".lora_b", type(b), b, 0.25);
    }
    return maker.bytes();
}

std::string control_bytes(const ggufx_model *model, uint64_t seed) {
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, model, &error), error, "model");
    Maker maker(seed);
    maker.text("general.architecture", "controlvector");
    maker.text("controlvector.model_hint", facts.architecture);
    for (uint32_t i = 1; i < facts.n_layers; i++)
        maker.tensor("direction." + std::to_string(i), GGUFX_TYPE_F32, {facts.n_embedding}, 0.3);
    return maker.bytes();
}

Adapter::Adapter(const ggufx_model *model, const std::string &bytes,
                 const ggufx_adapter_options *options)
    : bytes_(bytes), file_(open_bytes(bytes_)) {
    ggufx_error error;
    must(ggufx_adapter_create(&handle_, model, file_, options, &error), error, "adapter");
}

Adapter::~Adapter() {
    ggufx_adapter_destroy(handle_);
    ggufx_file_destroy(file_);
}

ggufx_adapter_facts Adapter::facts() const {
    ggufx_adapter_facts out = {};
    out.struct_size = sizeof out;
    ggufx_error error;
    must(ggufx_adapter_info(&out, handle_, &error), error, "adapter");
    return out;
}

void give(ggufx_session *session, uint32_t sequence, const Uses &uses) {
    ggufx_error error;
    must(ggufx_session_set_adapters(session, sequence, uses.data(), uses.size(), &error), error,
         "adapters");
}

std::string merged_bytes(const ggufx_file *file, const Uses &uses) {
    Rewrite copy(file);
    const std::vector<TensorShape> tensors = tensors_of(file);
    for (size_t i = 0; i < tensors.size(); i++) {
        bool changes = false;
        for (const ggufx_adapter_use &use : uses)
            changes |= ggufx_adapter_has_tensor(use.adapter, i) == 1;
        if (!changes) {
            copy.add_tensor(i, tensors[i].name);
            continue;
        }
        uint64_t n_rows = 1;
        for (size_t d = 1; d < tensors[i].ne.size(); d++) n_rows *= tensors[i].ne[d];
        std::vector<float> rows(n_rows * tensors[i].ne[0]);
        ggufx_error error;
        must(ggufx_dequantize(rows.data(), rows.size(), g_runtime, ggufx_file_tensor(file, i), 0,
                              n_rows, &error),
             error, "rows");
        for (const ggufx_adapter_use &use : uses)
            must(ggufx_adapter_add_rows(rows.data(), rows.size(), use.adapter, i, 0, n_rows,
                                        use.scale, &error),
                 error, "rows");
        copy.add_floats(tensors[i].name, tensors[i].ne, rows);
    }
    return copy.bytes();
}
