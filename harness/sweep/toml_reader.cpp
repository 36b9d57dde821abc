#include "sweep/toml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark {

std::vector<TomlEntry> in_file_order(const toml::table& table) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, node] : table)
    entries.push_back({std::string(key.str()), &node, key.source().begin});
  std::ranges::stable_sort(entries,
                           [](const TomlEntry& a, const TomlEntry& b) { return a.position < b.position; });
  return entries;
}

void fail(const Place& place, std::string_view what) {
  throw UsageError(fmt::format("{}:{}: {}: {}", place.file, place.line, place.key, what));
}

Place TomlReader::at(const TomlEntry& entry, const std::string& above) const {
  return {file_name_, entry.position.line, above + entry.key};
}

std::string TomlReader::word(const toml::node& node, const Place& place) {
  if (const auto word = node.value_exact<std::string>()) return *word;
  fail(place, "is a text in quotes");
}

std::vector<Placed<std::string>> TomlReader::words(const toml::node& node, const Place& place) {
  std::vector<Placed<std::string>> all;
  for (const Placed<AxisValue>& value : list(node, place)) {
    const std::string* word = std::get_if<std::string>(&value.value);
    if (word == nullptr) fail(value.place, fmt::format("{} is no text in quotes", to_text(value.value)));
    all.push_back({*word, value.place});
  }
  return all;
}

bool TomlReader::truth(const toml::node& node, const Place& place) {
  if (const auto truth = node.value_exact<bool>()) return *truth;
  fail(place, "is true or false");
}

Size TomlReader::integer(const toml::node& node, const Place& place) {
  const Placed<AxisValue> value = scalar(node, place);
  if (const Size* integer = std::get_if<Size>(&value.value)) return *integer;
  fail(value.place, fmt::format("'{}' is no integer", to_text(value.value)));
}

Placed<AxisValue> TomlReader::scalar(const toml::node& node, const Place& place) {
  const Place here{place.file, node.source().begin.line, place.key};
  if (const auto integer = node.value_exact<std::int64_t>()) return {Size{*integer}, here};
  if (const auto word = node.value_exact<std::string>()) return {*word, here};
  if (node.is_floating_point()) {
    fail(here, fmt::format("{} is no integer; sizes are whole numbers", *node.value_exact<double>()));
  }
  fail(here, "is an integer or a word in quotes");
}

std::vector<Placed<AxisValue>> TomlReader::list(const toml::node& node, const Place& place) {
  std::vector<Placed<AxisValue>> values;
  if (const toml::array* array = node.as_array()) {
    if (array->empty()) fail(place, "the list is empty");
    for (const toml::node& element : *array) values.push_back(scalar(element, place));
  } else {
    values.push_back(scalar(node, place));
  }
  return values;
}

std::vector<const toml::table*> TomlReader::tables(const toml::node& node, const Place& place,
                                                   std::string_view form) {
  const toml::array* array = node.as_array();
  std::vector<const toml::table*> found;
  if (array != nullptr) {
    for (const toml::node& element : *array) {
      if (const toml::table* table = element.as_table()) found.push_back(table);
    }
  }
  if (array == nullptr || found.size() != array->size()) fail(place, fmt::format("is written as {}", form));
  return found;
}

void TomlReader::only_known(const Place& place, const std::string& key,
                            const std::vector<std::string>& known) {
  if (std::ranges::find(known, key) == known.end()) unknown(place, key, known);
}

void TomlReader::unknown(const Place& place, const std::string& key, const std::vector<std::string>& known) {
  if (key == "tolerance" || key == "tolerances") {
    fail(place,
         "a suite sets no tolerance: how far a result may be from its reference follows from the variant's "
         "arithmetic and dtype, and stands in the variant (docs/design.md says why)");
  }
  fail(place, "unknown key" + suggest_word(key, known));
}

}  // namespace peakmark
