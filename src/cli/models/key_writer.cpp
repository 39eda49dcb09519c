// Each setter is one call of the library's writer.
// SPDX-License-Identifier: MIT
#include "models/key_writer.hpp"

namespace ggufx::cli {

void KeyWriter::text(const std::string &key, const std::string &value) {
    call([&](ggufx_error *error) {
        return ggufx_writer_set_string(writer_, key.data(), key.size(), value.data(), value.size(),
                                       error);
    });
}

void KeyWriter::u32(const std::string &key, uint64_t value) {
    call([&](ggufx_error *error) {
        return ggufx_writer_set_u64(writer_, key.data(), key.size(), GGUFX_VALUE_U32, value, error);
    });
}

void KeyWriter::f32(const std::string &key, double value) {
    call([&](ggufx_error *error) {
        return ggufx_writer_set_f64(writer_, key.data(), key.size(), GGUFX_VALUE_F32, value, error);
    });
}

void KeyWriter::flag(const std::string &key, bool value) {
    call([&](ggufx_error *error) {
        return ggufx_writer_set_bool(writer_, key.data(), key.size(), value, error);
    });
}

void KeyWriter::i32(const std::string &key, int32_t value) {
    call([&](ggufx_error *error) {
        return ggufx_writer_set_i64(writer_, key.data(), key.size(), GGUFX_VALUE_I32, value, error);
    });
}

void KeyWriter::texts(const std::string &key, const std::vector<std::string> &values) {
    std::vector<const char *> starts;
    std::vector<size_t> lengths;
    for (const std::string &value : values) {
        starts.push_back(value.data());
        lengths.push_back(value.size());
    }
    call([&](ggufx_error *error) {
        return ggufx_writer_set_array_string(writer_, key.data(), key.size(), starts.data(),
                                             lengths.data(), values.size(), error);
    });
}

void KeyWriter::f32s(const std::string &key, const std::vector<float> &values) {
    call([&](ggufx_error *error) {
        return ggufx_writer_set_array(writer_, key.data(), key.size(), GGUFX_VALUE_F32,
                                      values.data(), values.size(), error);
    });
}

void KeyWriter::flags(const std::string &key, const std::vector<bool> &values) {
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    call([&](ggufx_error *error) {
        return ggufx_writer_set_array(writer_, key.data(), key.size(), GGUFX_VALUE_BOOL,
                                      bytes.data(), bytes.size(), error);
    });
}

void KeyWriter::i32s(const std::string &key, const std::vector<int32_t> &values) {
    call([&](ggufx_error *error) {
        return ggufx_writer_set_array(writer_, key.data(), key.size(), GGUFX_VALUE_I32,
                                      values.data(), values.size(), error);
    });
}

} // namespace ggufx::cli
