#include "measure/sweep/suite_keys.hpp"

#include "base/json.hpp"
#include "embedded_files.hpp"

namespace peakmark {

std::string_view suite_schema() {
  return embedded::suite_schema_json();
}

}  // namespace peakmark

namespace peakmark::suite_keys {
namespace {

using Json = nlohmann::ordered_json;

const Json& schema() {
  static const Json parsed = Json::parse(suite_schema());
  return parsed;
}

const Json& definition(const char* name) {
  return schema().at("definitions").at(name);
}

void add_properties(const Json& table, Keys& keys) {
  for (const auto& [key, value] : table.at("properties").items()) keys.push_back(key);
}

Keys properties(const Json& table) {
  Keys keys;
  add_properties(table, keys);
  return keys;
}

/// Returns the keys of all forms of an axis that are tables.
Keys axis_properties() {
  Keys keys;
  for (const Json& form : definition("span").at("oneOf")) add_properties(form, keys);
  for (const Json& form : definition("axis").at("oneOf")) {
    if (form.contains("properties")) add_properties(form, keys);
  }
  return keys;
}

Keys words(const char* name) {
  return definition(name).at("enum").get<Keys>();
}

}  // namespace

const Keys& suite() {
  static const Keys keys = properties(schema());
  return keys;
}
const Keys& sweep() {
  static const Keys keys = properties(definition("sweep"));
  return keys;
}
const Keys& rule() {
  static const Keys keys = properties(definition("rule"));
  return keys;
}
const Keys& axis() {
  static const Keys keys = axis_properties();
  return keys;
}
const Keys& program() {
  static const Keys keys = properties(definition("program"));
  return keys;
}
const Keys& program_axis() {
  static const Keys keys = properties(definition("program_axis"));
  return keys;
}
const Keys& estimator() {
  static const Keys keys = properties(definition("estimator"));
  return keys;
}
const Keys& estimator_formula() {
  static const Keys keys = properties(definition("estimator_formula"));
  return keys;
}
const Keys& outcomes() {
  static const Keys keys = words("expect");
  return keys;
}
const Keys& estimator_forms() {
  static const Keys keys = words("estimator_form");
  return keys;
}
const Keys& dtypes() {
  static const Keys keys = words("dtype_name");
  return keys;
}

}  // namespace peakmark::suite_keys
