#include <set>

#include "sim/scenario/fields.h"

namespace headway {
namespace {

constexpr std::int64_t kMostPriority = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLeastPriority = std::numeric_limits<std::int32_t>::min();

FieldRow<SloClass> class_tenant_field() {
  return {"tenant",
          "integer or null",
          range_text(0, kMostPriority),
          "requests of this tenant; null = of any",
          [](const Value& v, SloClass& out) {
            out.tenant.reset();
            if (!v.json().is_null()) {
              out.tenant = static_cast<std::int32_t>(v.integer(0, kMostPriority));
            }
          },
          [](const SloClass& in) { return in.tenant ? Json(*in.tenant) : Json(nullptr); }};
}

FieldRow<SloClass> class_priority_field() {
  return {"priority",
          "integer, [first, last] or null",
          range_text(kLeastPriority, kMostPriority),
          "requests of this priority, or of this range of them; null = of any",
          [](const Value& v, SloClass& out) {
            const auto level = [](const Value& value) {
              return static_cast<std::int32_t>(value.integer(kLeastPriority, kMostPriority));
            };
            const SloClass any;
            if (v.json().is_null()) {
              out.first_priority = any.first_priority;
              out.last_priority = any.last_priority;
            } else if (!v.json().is_array()) {
              out.first_priority = out.last_priority = level(v);
            } else {
              if (v.json().size() != 2) v.fail(describe(v.json()), "[first, last]");
              out.first_priority = level(v.entry(0));
              out.last_priority = level(v.entry(1));
              if (out.first_priority > out.last_priority) {
                v.fail("the first above the last", "[first, last], the smaller number first");
              }
            }
          },
          [](const SloClass& in) {
            const SloClass any;
            if (in.first_priority == any.first_priority && in.last_priority == any.last_priority) {
              return Json(nullptr);
            }
            if (in.first_priority == in.last_priority) return Json(in.first_priority);
            return Json{in.first_priority, in.last_priority};
          }};
}

FieldRow<SloClass> class_limit(std::string name, std::optional<double> SloLimits::*member) {
  const std::string help =
      "limit on " + std::string(name == "ttft_ms" ? "TTFT" : name == "tpot_ms" ? "TPOT" : "E2EL") +
      "; \"inf\" = none; null = as the block has it";
  return {std::move(name),
          "number or null",
          range_text(kAboveZero, kInfinity),
          help,
          [=](const Value& v, SloClass& out) {
            (out.limits.*member).reset();
            if (!v.json().is_null()) out.limits.*member = v.number(kAboveZero, kInfinity);
          },
          [=](const SloClass& in) {
            return in.limits.*member ? number_json(*(in.limits.*member)) : Json(nullptr);
          }};
}

const FieldTable<SloClass>& class_table() {
  static const FieldTable<SloClass> table = {
      required(text("name", &SloClass::name, "what the class is called in results")),
      class_tenant_field(),
      class_priority_field(),
      class_limit("ttft_ms", &SloLimits::ttft_ms),
      class_limit("tpot_ms", &SloLimits::tpot_ms),
      class_limit("e2el_ms", &SloLimits::e2el_ms),
  };
  return table;
}

void read_class(const Value& value, std::set<std::string>& taken, SloClass& out) {
  read_block(value, class_table(), out);
  const auto given = [&](const char* key) {
    return value.has(key) && !value.json().at(key).is_null();
  };
  if (out.name.empty()) value.member("name").fail("an empty text", "a name");
  if (!taken.insert(out.name).second) {
    value.member("name").fail(in_quotes(out.name) + ", a second time", "another name for each class");
  }
  if (!given("tenant") && !given("priority")) {
    value.fail("a class of all requests", "\"tenant\" or \"priority\": whose limits these are");
  }
}

FieldRow<SloOptions> classes_field() {
  return {"classes",
          "list of objects",
          "",
          "requests with limits of their own; the first class that holds a request is its class",
          [](const Value& v, SloOptions& out) {
            if (!v.json().is_array()) {
              v.fail(describe(v.json()), "a list of { name, tenant or priority, limits }");
            }
            out.classes.assign(v.json().size(), {});
            std::set<std::string> names;
            for (std::size_t i = 0; i < out.classes.size(); ++i) {
              read_class(v.entry(i), names, out.classes[i]);
            }
          },
          [](const SloOptions& in) {
            Json list = Json::array();
            for (const SloClass& c : in.classes) list.push_back(write_block(c, class_table()));
            return list;
          },
          "",
          false,
          [](const std::string& path) { return document_block(path + "[i]", class_table()); }};
}

}  // namespace

const FieldTable<SloOptions>& slo_table() {
  static const FieldTable<SloOptions> table = {
      optional_number("ttft_ms", &SloOptions::ttft_ms, kAboveZero, 1e12, "limit on TTFT; null = none"),
      optional_number("tpot_ms", &SloOptions::tpot_ms, kAboveZero, 1e12, "limit on TPOT; null = none"),
      optional_number("e2el_ms", &SloOptions::e2el_ms, kAboveZero, 1e12, "limit on E2EL; null = none"),
      classes_field(),
      boolean("by_tenant", &SloOptions::by_tenant, "numbers for each tenant, in the place of classes"),
  };
  return table;
}

}  // namespace headway
