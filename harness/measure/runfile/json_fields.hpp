#pragma once

// For .cpp files, and headers that only they include: nlohmann's header takes seconds to compile.
#include <algorithm>
#include <atomic>
#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/size.hpp"
#include "measure/runfile/field_list.hpp"
#include "measure/sweep/parameters.hpp"

// Reads and writes the fields of peakmark's formats. An unknown value is null: never omitted, and never 0. An
// integer is never read from a fraction. Errors are nlohmann's exceptions, which name the place.
//
// to_json(value) and read(json, value) write and read a structure with a field list (field_list.hpp).
namespace peakmark::json_fields {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Returns null for an empty text or list.
template <typename T>
Json null_if_empty(const T& value) {
  return value.empty() ? Json(nullptr) : Json(value);
}

/// Returns the fields with which every format begins.
inline Json begin(FormatVersion version) {
  return Json{{"version", version.major}, {"minor", version.minor}};
}

[[noreturn]] inline void wrong_type(const Json& json, const char* expected) {
  throw Json::type_error::create(302, std::string("must be ") + expected + ", but is " + json.type_name(),
                                 &json);
}

class FieldReader;
class FieldWriter;

/// True for structures with a field list.
template <typename T>
concept HasFieldList = requires(T& value, FieldReader& fields) {
  for_each_field(value, fields);
};

inline void read(const Json& json, Size& value) {
  if (!json.is_number_integer()) wrong_type(json, "an integer");
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Size>::max())) {
    wrong_type(json, "an integer that fits 64 bits");
  }
  value = json.get<Size>();
}
inline void read(const Json& json, std::uint64_t& value) {
  if (!json.is_number_unsigned()) wrong_type(json, "an integer of 64 bits, not below 0");
  value = json.get<std::uint64_t>();
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
  if (json.is_number_float()) {
    value = json.get<double>();
    return;
  }
  Size number = 0;
  read(json, number);
  value = number;
}
inline void read(const Json& json, Parameters& parameters) {
  if (!json.is_object()) wrong_type(json, "an object");
  std::vector<std::pair<std::string, AxisValue>> values;
  values.reserve(json.size());
  for (const auto& [name, value] : json.items()) read(value, values.emplace_back(name, AxisValue{}).second);
  parameters = Parameters(std::move(values));
}
inline void read(const Json& json, std::pair<std::string, std::string>& pair);
template <typename T>
void read(const Json& json, std::vector<T>& values);
template <HasFieldList T>
void read(const Json& json, T& value);
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
  values.reserve(json.size());
  for (const Json& item : json) read(item, values.emplace_back());
}
template <typename T>
void read(const Json& json, std::map<std::string, T>& values) {
  if (!json.is_object()) wrong_type(json, "an object");
  values.clear();
  for (const auto& [key, item] : json.items()) read(item, values[key]);
}

/// Reads a required field.
template <typename T>
void field(const Json& json, const char* key, T& value) {
  read(json.at(key), value);
}

/// Reads each field of a field list from an object.
class FieldReader {
 public:
  explicit FieldReader(const Json& json) : json_(json), next_(json.begin()) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    read(at(key), value);
  }
  void bytes(const char* key, std::optional<Size>& bytes) {
    read(at(key), bytes);
    if (bytes && *bytes < 0) {
      throw UsageError(std::string(key) + " is " + std::to_string(*bytes) + "; bytes are 0 or more");
    }
  }
  template <typename T>
  void written_if(const char* key, T& value, bool /*is_written*/) {
    if (is_next(key) || json_.contains(key)) read(at(key), value);
  }
  void null_if_empty(const char* key, std::string& text) {
    const Json& value = at(key);
    if (!value.is_null()) read(value, text);
  }
  void derived(const char* /*key*/, std::string_view /*text*/) {}

 private:
  [[nodiscard]] bool is_next(std::string_view key) const {
    return json_.is_object() && next_ != json_.end() && next_.key() == key;
  }
  /// Documents usually have the order of the list, so the next field is tried before the object is searched.
  const Json& at(const char* key) {
    if (!is_next(key)) {
      next_ = json_.find(key);
      if (next_ == json_.end()) return json_.at(key);  // throws
    }
    return *next_++;
  }

  const Json& json_;
  Json::const_iterator next_;
};

/// Reads a structure only by its field list. For a read() of a type that needs a further check.
template <HasFieldList T>
void read_fields(const Json& json, T& value) {
  FieldReader fields(json);
  for_each_field(value, fields);
}

template <HasFieldList T>
void read(const Json& json, T& value) {
  read_fields(json, value);
}

/// Reads a list of two names.
inline void read(const Json& json, std::pair<std::string, std::string>& pair) {
  std::vector<std::string> names;
  read(json, names);
  if (names.size() != 2) wrong_type(json, "two names");
  pair = {std::move(names[0]), std::move(names[1])};
}

inline Json to_json(const AxisValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}
inline Json to_json(const Parameters& parameters) {
  Json json = Json::object();
  for (const auto& [name, value] : parameters.values()) json[name] = to_json(value);
  return json;
}

template <typename T>
concept PlainValue = std::is_arithmetic_v<T> || std::same_as<T, std::string>;

template <PlainValue T>
Json to_json(const T& value) {
  return Json(value);
}
template <HasFieldList T>
Json to_json(const T& value);
inline Json to_json(const std::pair<std::string, std::string>& pair) {
  return Json{pair.first, pair.second};
}
template <typename T>
Json to_json(const std::map<std::string, T>& values) {
  return Json(values);
}
template <typename T>
Json to_json(const std::vector<T>& values);
template <typename T>
Json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}
template <typename T>
Json to_json(const std::vector<T>& values) {
  if constexpr (PlainValue<T>) return Json(values);
  Json::array_t list;
  list.reserve(values.size());
  for (const T& value : values) list.push_back(to_json(value));
  return Json(std::move(list));
}

/// Writes each field of a field list into an object, in the order of the list.
class FieldWriter {
 public:
  /// `count`: approximate number of fields.
  explicit FieldWriter(std::size_t count) { object_.reserve(count); }

  template <typename T>
  void operator()(const char* key, const T& value) {
    object_.emplace_back(key, to_json(value));  // no search for the key, because a list names it once
  }
  template <typename T>
  void bytes(const char* key, const T& value) {
    (*this)(key, value);
  }
  template <typename T>
  void written_if(const char* key, const T& value, bool is_written) {
    if (is_written) (*this)(key, value);
  }
  void null_if_empty(const char* key, const std::string& text) {
    object_.emplace_back(key, json_fields::null_if_empty(text));
  }
  void derived(const char* key, std::string_view text) { object_.emplace_back(key, text); }

  [[nodiscard]] std::size_t size() const { return object_.size(); }
  /// Returns the object. Call it once, at the end.
  Json take() { return Json(std::move(object_)); }

 private:
  Json::object_t object_;
};

/// Returns the object of a structure only by its field list.
template <HasFieldList T>
Json fields_json(const T& value) {
  static std::atomic<std::size_t> count{
      0};  // number of fields of the previous one; growth would copy every key
  FieldWriter fields(count.load(std::memory_order_relaxed));
  for_each_field(value, fields);
  count.store(fields.size(), std::memory_order_relaxed);
  return fields.take();
}

template <HasFieldList T>
Json to_json(const T& value) {
  return fields_json(value);
}

/// Returns the text of `json` on one line. Bytes that are not UTF-8 (a device's name) are replaced.
inline std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns the indented text of `json` with a newline at its end. Bytes that are not UTF-8 are replaced.
inline std::string pretty(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Returns the message of an exception without the number that nlohmann puts first.
inline std::string message_of(const Json::exception& error) {
  const std::string text = error.what();
  const auto end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

/// A list of a document that may have millions of elements.
struct LongList {
  std::vector<std::string> keys;  ///< keys that lead to it; empty: the document is the list
  std::function<void(const Json& element)> take;
};

/// Parses a document. Each object in one of `lists` is passed to its `take` and dropped: in the result these
/// lists are empty. A document of 100,000 cases would take gigabytes as one value, and nlohmann's parser with
/// a callback traverses a whole list at the end of each object in it. `input`: as for Json::parse.
template <typename Input>
Json parse_with_long_lists(Input&& input, std::span<const LongList> lists) {
  std::size_t deepest = 0;
  for (const LongList& list : lists) deepest = std::max(deepest, list.keys.size());
  std::vector<std::string> keys;  // keys of the open objects; empty for a list
  return Json::parse(std::forward<Input>(input), [&](int depth, Json::parse_event_t event, Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::key && level <= deepest) {
      keys.resize(level);
      keys.back() = parsed.get_ref<const std::string&>();
    }
    // An element's path has the keys of its list and one more level.
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
