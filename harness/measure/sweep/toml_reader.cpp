#include "measure/sweep/toml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {

std::vector<TomlEntry> in_file_order(const toml::table& table) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : table)
    entries.push_back({std::string(key.str()), &node, key.source().begin});
  std::ranges::stable_sort(entries,
                           [](const TomlEntry& a, const TomlEntry& b) { return a.position < b.position; });
  return entries;
}

void fail(const SourceLocation& place, std::string_view what) {
  if (place.file.empty()) throw UsageError(std::string(what));
  if (place.line == 0) throw UsageError(fmt::format("{}: {}", place.file, what));
  throw UsageError(fmt::format("{}:{}: {}: {}", place.file, place.line, place.key, what));
}

SourceLocation TomlReader::at(const TomlEntry& entry, const std::string& above) const {
  return {file_name_, entry.position.line, above + entry.key};
}

std::string TomlReader::word(const toml::node& node, const SourceLocation& place) {
  if (const auto word = node.value_exact<std::string>()) return *word;
  fail(place, "must be a quoted string");
}

std::vector<Located<std::string>> TomlReader::words(const toml::node& node, const SourceLocation& place) {
  std::vector<Located<std::string>> all;
  for (const Located<AxisValue>& value : list(node, place)) {
    const std::string* word = std::get_if<std::string>(&value.value);
    if (word == nullptr) fail(value.place, fmt::format("{} is not a quoted string", to_text(value.value)));
    all.push_back({*word, value.place});
  }
  return all;
}

bool TomlReader::truth(const toml::node& node, const SourceLocation& place) {
  if (const auto truth = node.value_exact<bool>()) return *truth;
  fail(place, "must be true or false");
}

Size TomlReader::integer(const toml::node& node, const SourceLocation& place) {
  const Located<AxisValue> value = scalar(node, place);
  if (const Size* integer = std::get_if<Size>(&value.value)) return *integer;
  fail(value.place, fmt::format("'{}' is not an integer", to_text(value.value)));
}

Located<AxisValue> TomlReader::scalar(const toml::node& node, const SourceLocation& place) {
  const SourceLocation here{place.file, node.source().begin.line, place.key};
  if (const auto integer = node.value_exact<std::int64_t>()) return {Size{*integer}, here};
  if (const auto word = node.value_exact<std::string>()) return {*word, here};
  if (const auto number = node.value_exact<double>()) return {*number + 0.0, here};  // -0 becomes 0
  fail(here, "must be a number or a quoted string");
}

std::vector<Located<AxisValue>> TomlReader::list(const toml::node& node, const SourceLocation& place) {
  std::vector<Located<AxisValue>> values;
  if (const toml::array* array = node.as_array()) {
    if (array->empty()) fail(place, "empty list");
    for (const toml::node& element : *array) values.push_back(scalar(element, place));
  } else {
    values.push_back(scalar(node, place));
  }
  return values;
}

std::vector<CaseCondition> TomlReader::conditions(const toml::node& node, const SourceLocation& place) const {
  const toml::table* const when = node.as_table();
  if (when == nullptr) fail(place, "must be a table: when = { mode = \"edge\" }");
  std::vector<CaseCondition> all;
  for (const TomlEntry& condition : in_file_order(*when)) {
    const SourceLocation condition_place = at(condition, place.key + ".");
    all.push_back({condition.key, condition_place, list(*condition.node, condition_place)});
  }
  return all;
}

std::vector<const toml::table*> TomlReader::tables(const toml::node& node, const SourceLocation& place,
                                                   std::string_view form) {
  const toml::array* array = node.as_array();
  std::vector<const toml::table*> found;
  if (array != nullptr) {
    for (const toml::node& element : *array) {
      if (const toml::table* table = element.as_table()) found.push_back(table);
    }
  }
  if (array == nullptr || found.size() != array->size())
    fail(place, fmt::format("must be written as {}", form));
  return found;
}

void TomlReader::unknown(const SourceLocation& place, const std::string& key,
                         const std::vector<std::string>& known) {
  if (key == "tolerance" || key == "tolerances") {
    fail(place,
         "suites cannot set a tolerance: it follows from the variant's arithmetic and dtype, and is part of "
         "the variant (docs/design.md)");
  }
  fail(place, "unknown key" + suggest_word(key, known));
}

}  // namespace peakmark
