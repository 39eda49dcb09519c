// Probes of a template's forms: see forms.hpp.
// SPDX-License-Identifier: MIT
#include "chat/forms.hpp"

#include "chat/json.hpp"
#include "chat/machine.hpp"

namespace ggufx::chat {

namespace {

constexpr Limits kProbeLimits = {100000, 8 << 20, 1 << 20}; // published templates need a tenth
constexpr int64_t kProbeClock = 1700000000;

constexpr std::string_view kTools =
    R"([{"type":"function","function":{"name":"probe_tool","description":"probe","parameters":{)"
    R"("type":"object","properties":{"city":{"type":"string","description":"probe"}},)"
    R"("required":["city"]}}}])";
constexpr const char *kObject = R"({"probekey": "probevalue"})";
constexpr const char *kObjectText = R"("{\"probekey\": \"probevalue\"}")";
constexpr const char *kText = R"("probeone probetwo")";
constexpr const char *kTextWithoutCalls = R"("probeone probetwo","tool_calls":[])";
constexpr const char *kParts =
    R"([{"type":"text","text":"probeone"},{"type":"text","text":" probetwo"}])";

class Prober {
public:
    Prober(const TemplateProgram &program, const Text *bos, const Text *eos,
           const Progress &progress)
        : program_(program), bos_(bos), eos_(eos), progress_(progress), shown_(program.host.get()) {
    }

    Forms find() {
        find_arguments();
        find_contents();
        for (const Role role : {Role::system, Role::user, Role::assistant, Role::tool})
            find_parts(role);
        if (shows_content(render_content(Role::assistant, kText)) &&
            !shows_content(render_content(Role::assistant, kTextWithoutCalls)))
            bits_ |= Forms::no_empty_calls;
        find_reasoning();
        find_lost_calls();
        return {bits_ | Forms::known};
    }

private:
    // Renders a conversation; returns an empty text if the template fails.
    std::string_view render(std::string_view messages, std::string_view tools) {
        shown_.text.clear();
        shown_.runs.clear();
        if (is_over_) return {};
        try {
            Meter meter(program_.host.get(), kProbeLimits, progress_);
            TemplateMachine machine(program_, meter, shown_);
            machine.set("messages", read_json(meter, messages, "messages"));
            Value functions;
            if (!tools.empty()) functions = read_json(meter, tools, "tools");
            if (!tools.empty()) machine.set("tools", functions);
            machine.set("add_generation_prompt", Value::of(false));
            if (bos_) machine.set("bos_token", Value::of(bos_));
            if (eos_) machine.set("eos_token", Value::of(eos_));
            machine.set_clock(kProbeClock);
            machine.complete(functions);
            machine.run();
        } catch (const Error &e) {
            const auto status = static_cast<Status>(e.failure.status);
            if (status == Status::memory || status == Status::cancelled) throw;
            is_over_ = status == Status::limit; // further probes would reach the limit, too
            return {};
        }
        return {shown_.text.data(), shown_.text.size()};
    }

    std::string_view render_call(const char *content, const char *arguments,
                                 const char *result = "\"done\"") {
        char messages[1024];
        const size_t n = print_text(
            messages, sizeof messages,
            R"([{"role":"user","content":"hi"},{"role":"assistant","content":%s,"tool_calls":[)"
            R"({"id":"call00001","type":"function","function":{"name":"probe_tool","arguments":%s)"
            R"(}}]},{"role":"tool","tool_call_id":"call00001","name":"probe_tool","content":%s}])",
            content, arguments, result);
        return render({messages, n}, kTools);
    }

    void find_arguments() {
        for (const char *const content : {"\"\"", "null"}) {
            if (shows_arguments(render_call(content, kObject)))
                bits_ |= Forms::object_arguments;
            else if (shows_arguments(render_call(content, kObjectText)))
                bits_ |= Forms::text_arguments;
            if (bits_ != 0) return;
        }
    }

    // A template that supports null prints no text for it, but may print an empty turn for "".
    void find_contents() {
        const char *const arguments = arguments_form();
        const std::string_view with_null = render_call("null", arguments);
        const bool takes_null = !with_null.empty(), null_has_call = shows_arguments(with_null);
        const size_t n_null = with_null.size();
        const std::string_view with_empty = render_call("\"\"", arguments);
        const bool empty_has_call = shows_arguments(with_empty);
        const bool takes_empty = !with_empty.empty();
        if (takes_null && (!takes_empty || null_has_call > empty_has_call ||
                           (null_has_call == empty_has_call && n_null < with_empty.size())))
            bits_ |= Forms::null_content;
        else if (takes_empty)
            bits_ |= Forms::empty_content;
    }

    void find_parts(Role role) {
        const unsigned shift = static_cast<unsigned>(role);
        if (shows_content(render_content(role, kText))) bits_ |= Forms::text << shift;
        if (shows_content(render_content(role, kParts))) bits_ |= Forms::parts << shift;
    }

    // Probes with a call: templates that drop the reasoning of earlier turns keep it there.
    void find_reasoning() {
        if (shows_reasoning("reasoning_content")) return;
        unsigned shift = 0;
        for (const std::string_view name : kReasoningNames) {
            if (shows_reasoning(name)) bits_ |= Forms::reasoning << shift;
            if (bits_ >= Forms::reasoning) return;
            shift++;
        }
    }

    bool shows_reasoning(std::string_view name) {
        char content[96];
        print_text(content, sizeof content, R"(%s,"%.*s":"probethought")",
                   bits_ & Forms::null_content ? "null" : "\"\"", static_cast<int>(name.size()),
                   name.data());
        return render_call(content, arguments_form()).find("probethought") !=
               std::string_view::npos;
    }

    // Calls that the template leaves out of a history, though it prints the content of the message.
    void find_lost_calls() {
        if (!shows_content(render_written_call())) return;
        const char *const arguments = arguments_form();
        const bool beside_text = shows_call(kText, arguments);
        if (is_over_) return;
        if (has_arguments()) {
            if (!beside_text) bits_ |= Forms::calls_or_text;
            if (!shows_call("\"\"", arguments) && shows_call("null", arguments))
                bits_ |= Forms::null_for_calls;
            return;
        }
        for (const char *const content : {kText, "\"\"", "null"})
            for (const char *const form : {kObject, kObjectText})
                if (shows_call(content, form)) return;
        bits_ |= Forms::no_calls;
    }

    bool has_arguments() const {
        return (bits_ & (Forms::object_arguments | Forms::text_arguments)) != 0;
    }

    // In any notation.
    bool shows_call(const char *content, const char *arguments) {
        return render_call(content, arguments).find("probevalue") != std::string_view::npos;
    }

    // A call that the content has already.
    std::string_view render_written_call() {
        return render(R"([{"role":"user","content":"hi"},{"role":"assistant","content":)"
                      R"("probeone probetwo"},{"role":"tool","tool_call_id":"call00001","name":)"
                      R"("probe_tool","content":"done"}])",
                      kTools);
    }

    const char *arguments_form() const {
        return bits_ & Forms::text_arguments ? kObjectText : kObject;
    }

    std::string_view render_content(Role role, const char *content) {
        if (role == Role::tool)
            return render_call(bits_ & Forms::null_content ? "null" : "\"\"", arguments_form(),
                               content);
        static constexpr const char *kForms[] = {
            R"([{"role":"system","content":%s},{"role":"user","content":"hi"}])",
            R"([{"role":"user","content":%s}])",
            // clang takes two literals in a row for a missing comma.
            (R"([{"role":"user","content":"hi"},{"role":"assistant","content":%s},)"
             R"({"role":"user","content":"go on"}])")};
        const std::string_view form = kForms[static_cast<size_t>(role)];
        const size_t at = form.find("%s");
        char messages[512];
        const size_t n = print_text(messages, sizeof messages, "%.*s%s%s", static_cast<int>(at),
                                    form.data(), content, form.data() + at + 2);
        return render({messages, n}, {});
    }

    // A mapping printed by Python has single quotes; JSON within JSON has backslashes.
    static bool shows_arguments(std::string_view text) {
        const size_t key = text.find("probekey");
        if (key == text.npos || text.find("probevalue", key) == text.npos) return false;
        const std::string_view before = text.substr(0, key);
        return !before.ends_with('\'') && !before.ends_with("\\\"");
    }

    // A list printed as Python or JSON shows the member's name.
    static bool shows_content(std::string_view text) {
        const size_t at = text.find("probeone");
        if (at == text.npos || text.find("probetwo", at) == text.npos) return false;
        for (const std::string_view member : {"text': '", "text\": \"", "text\":\""})
            if (text.substr(0, at).ends_with(member)) return false;
        return true;
    }

    const TemplateProgram &program_;
    const Text *bos_, *eos_;
    const Progress progress_;
    Output shown_;
    uint32_t bits_ = 0;
    bool is_over_ = false;
};

} // namespace

Role role_from(std::string_view name) {
    static constexpr std::string_view names[] = {"system", "user", "assistant", "tool"};
    for (size_t i = 0; i < 4; i++)
        if (name == names[i]) return static_cast<Role>(i);
    return Role::none;
}

Forms find_forms(const TemplateProgram &program, const Text *bos, const Text *eos,
                 const Progress &progress) {
    return Prober(program, bos, eos, progress).find();
}

} // namespace ggufx::chat
