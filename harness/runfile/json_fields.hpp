#pragma once

// For .cpp files only: nlohmann's header costs seconds. JSON_DIAGNOSTICS makes its messages name the place,
// and must be set alike wherever this room includes it.
#ifndef JSON_DIAGNOSTICS
#define JSON_DIAGNOSTICS 1
#endif
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/format_version.hpp"
#include "base/size.hpp"
#include "sweep/parameters.hpp"

// How the fields of peakmark's formats are read and written: what is unknown is null, never left out and
// never 0; an integer is never taken from a fraction. Mistakes throw nlohmann's exceptions, which name the
// place.
namespace peakmark::json_fields {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// What every format begins with.
inline Json begin(FormatVersion version) {
  return Json{{"version", version.major}, {"minor", version.minor}};
}

[[noreturn]] inline void wrong_type(const Json& json, const char* expected) {
  throw Json::type_error::create(302, std::string("must be ") + expected + ", but is " + json.type_name(),
                                 &json);
}

inline void read(const Json& json, Size& value) {
  if (!json.is_number_integer()) wrong_type(json, "an integer");
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Size>::max())) {
    wrong_type(json, "an integer that fits 64 bits");
  }
  value = json.get<Size>();
}
inline void read(const Json& json, int& value) {
  Size wide = 0;
  read(json, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    wrong_type(json, "an integer that fits 32 bits");
  }
  value = static_cast<int>(wide);
}
inline void read(const Json& json, double& value) {
  if (!json.is_number()) wrong_type(json, "a number");
  value = json.get<double>();
}
inline void read(const Json& json, bool& value) {
  if (!json.is_boolean()) wrong_type(json, "true or false");
  value = json.get<bool>();
}
inline void read(const Json& json, std::string& value) {
  if (!json.is_string()) wrong_type(json, "a string");
  value = json.get<std::string>();
}
inline void read(const Json& json, AxisValue& value) {
  if (json.is_string()) {
    value = json.get<std::string>();
    return;
  }
  Size number = 0;
  read(json, number);
  value = number;
}
template <typename T>
void read(const Json& json, std::vector<T>& values);
template <typename T>
void read(const Json& json, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
    return;
  }
  T present{};
  read(json, present);
  value = std::move(present);
}
template <typename T>
void read(const Json& json, std::vector<T>& values) {
  if (!json.is_array()) wrong_type(json, "a list");
  values.clear();
  for (const Json& item : json) read(item, values.emplace_back());
}
template <typename T>
void read(const Json& json, std::map<std::string, T>& values) {
  if (!json.is_object()) wrong_type(json, "an object");
  values.clear();
  for (const auto& [key, item] : json.items()) read(item, values[key]);
}

inline Json to_json(const AxisValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}
inline Json to_json(const Parameters& parameters) {
  Json json = Json::object();
  for (const auto& [name, value] : parameters.values()) json[name] = to_json(value);
  return json;
}
inline void read(const Json& json, Parameters& parameters) {
  if (!json.is_object()) wrong_type(json, "an object");
  std::vector<std::pair<std::string, AxisValue>> values;
  values.reserve(json.size());
  for (const auto& [name, value] : json.items()) read(value, values.emplace_back(name, AxisValue{}).second);
  parameters = Parameters(std::move(values));
}

/// A field that must be there.
template <typename T>
void field(const Json& json, const char* key, T& value) {
  read(json.at(key), value);
}

/// `json`'s text on one line; bytes that are no UTF-8 (a device's name) are replaced, never thrown over.
inline std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// `json`'s text for people and files, ended by a newline; the same of bytes that are no UTF-8.
inline std::string pretty(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// An exception's message without nlohmann's own number in front.
inline std::string message_of(const Json::exception& error) {
  const std::string text = error.what();
  const auto end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

/// A list of a document that may have millions of elements.
struct LongList {
  std::vector<std::string> keys;  ///< that lead to it; none: the document is the list
  std::function<void(const Json& element)> take;
};

/// Parses a document. Each object in one of `lists` goes to its `take` and is dropped: the result has those
/// lists without their objects. A document of 100,000 cases would take gigabytes as one value, and nlohmann's
/// parser with a callback goes over a whole list at the end of each object in it. `input`: as Json::parse.
template <typename Input>
Json parse_with_long_lists(Input&& input, std::span<const LongList> lists) {
  std::size_t deepest = 0;
  for (const LongList& list : lists) deepest = std::max(deepest, list.keys.size());
  std::vector<std::string> keys;  // of the objects that are open; empty for a list
  return Json::parse(std::forward<Input>(input), [&](int depth, Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::key && level <= deepest) {
      keys.resize(level);
      keys.back() = parsed.get_ref<const std::string&>();
    }
    // The keys of a list, and the level of the list itself, lead to an element.
    if (event != Json::parse_event_t::object_end || level == 0 || level > deepest + 1) return true;
    for (const LongList& list : lists) {
      if (list.keys.size() + 1 != level) continue;
      if (!std::ranges::equal(list.keys, std::span(keys).first(std::min(keys.size(), list.keys.size()))))
        continue;
      list.take(parsed);
      return false;
    }
    return true;
  });
}

}  // namespace peakmark::json_fields
