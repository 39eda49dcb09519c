// Fields of a JSON object from a client, by name. The table has their types and ranges, against
// which the body is checked first, so that readers only refuse combinations.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/field_check.hpp"
#include "serve/field_table.hpp"

namespace ggufx::cli {

// Name of a field that has one of these types; others do not compile.
template <Type::Kind... kinds> struct FieldName {
    static constexpr uint32_t kKinds =
        sizeof...(kinds) == 0 ? UINT32_MAX : (0u | ... | (1u << static_cast<unsigned>(kinds)));
    consteval FieldName(const char *name_) : name(name_) {
        if (!is_known()) throw "no field of this type has this name";
    }
    // A name of any type from one of a certain type.
    template <Type::Kind... others>
    FieldName(const FieldName<others...> &other) requires(sizeof...(kinds) == 0 &&
                                                          sizeof...(others) > 0)
        : name(other.name) {}
    std::string_view name;

private:
    constexpr bool is_known() const {
        for (const Group *const group : kGroups)
            for (const Row &row : group->rows)
                if (row.name == name && (kKinds >> static_cast<unsigned>(row.type->kind) & 1))
                    return true;
        return false;
    }
};

class Fields {
public:
    using Name = FieldName<>;
    using TextName = FieldName<Type::Kind::text, Type::Kind::words>;
    using FlagName = FieldName<Type::Kind::flag>;
    using NumberName = FieldName<Type::Kind::number>;
    using WholeName = FieldName<Type::Kind::whole>;

    // Throws ApiError unless the body has the fields of the group. `lenient`: ignores unknown ones.
    Fields(const Json &body, const Group &group, bool lenient);

    const Json *take(Name name); // NULL: absent or null
    // Values of absent fields are the presets of the table.
    std::optional<std::string> text(TextName name);
    std::optional<bool> truth(FlagName name);
    std::optional<double> number(NumberName name);
    std::optional<uint64_t> whole(WholeName name);
    std::optional<uint32_t> count(WholeName name); // a field of at most 32 bits
    // A nested object; empty if the field is absent or no object.
    std::optional<Fields> object(Name name);
    // An object in the list that a field has.
    Fields entry(Name name, const Json &object, size_t index) const;
    bool is_skipped() const { return form_.is_skipped; }
    // Throws std::logic_error if the reader has left out a field that has an effect.
    void finish() const;

    std::string path(Name name) const { return path_ + std::string(name.name); } // in the body
    [[noreturn]] void refuse(Name name, const std::string &what) const;

private:
    Fields(const Json &object, const Group &group, std::string path);
    const Row &row_of(std::string_view name, uint32_t kinds) const;
    const Json *take(std::string_view name, uint32_t kinds, const Row **row);

    const Json &object_;
    ObjectForm form_;
    std::string path_;   // prefix of field names: "messages[0]."
    uint64_t taken_ = 0; // bits of rows
};

} // namespace ggufx::cli
