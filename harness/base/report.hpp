#pragma once

// For .cpp files, and headers that only they include: nlohmann's header takes seconds to compile.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/size.hpp"
#include "base/text_table.hpp"

// Rows of reports. A list of fields defines a table once: the columns of text and markdown, and the keys of
// JSON. Only report.cpp decides how sizes, times, ratios and unknown values are written.
namespace peakmark {

/// How text and markdown show a value. Numbers are aligned to the right. JSON has the value itself.
enum class As : std::uint8_t {
  text,
  name,      ///< text; in markdown between backticks
  markdown,  ///< text that is markdown already
  figure,    ///< text, aligned to the right
  number,    ///< `4096`; a fraction has at most four digits
  size,      ///< bytes, as `4 KiB`
  bytes,     ///< bytes, as `4096 B`
  change,    ///< difference in bytes, as `+4096`
  duration,  ///< nanoseconds, as `1.5 ms`
  ratio,     ///< `0.953`
  lines,     ///< a list of texts, one below the other; `text` shows the first one
  hidden,    ///< only in JSON
};

/// Returns a value as text and markdown show it; `absent` for null and an empty text.
std::string to_text(const nlohmann::ordered_json& value, As as, const std::string& absent = "–");
/// Returns `1.5 KiB (1536 B)`, and `1023 B`.
std::string size_with_bytes(Size bytes);
/// Returns the column of the text and markdown tables.
TextTable::Column to_column(std::string title, As as);
/// Adds the remaining lines of a cell (As::lines) below its row, each with `indent` and two blanks.
void add_further_lines(TextTable& table, const nlohmann::ordered_json& lines, std::size_t column,
                       std::size_t columns, const std::string& indent);

/// Returns a value as JSON has it: null if it is unknown, the name of an enumerator.
template <typename T>
nlohmann::ordered_json to_fact(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return to_string(value);
  } else {
    return value;
  }
}
template <typename T>
nlohmann::ordered_json to_fact(const std::optional<T>& value) {
  if (!value) return nullptr;
  return to_fact(*value);
}

/// Returns a function of a row that returns null instead of an empty text or list.
template <typename Get>
auto unless_empty(Get get) {
  return [get](const auto& row) -> nlohmann::ordered_json {
    const auto& value = std::invoke(get, row);
    if (value.empty()) return nullptr;
    return value;
  };
}

/// A fact of a `Row`: `{"peak", As::size, &Row::peak_bytes, "peak_bytes"}`.
template <typename Row>
struct Field {
  std::string title;
  As as;
  std::function<nlohmann::ordered_json(const Row&)> value;
  std::string key;     ///< key in JSON; empty: not in JSON
  std::string absent;  ///< shown in text and markdown for an unknown or empty value

  /// `get`: a member, or a function of a row.
  template <typename Get>
  Field(std::string title, As as, Get get, std::string key = {}, std::string absent = "–")
      : title(std::move(title)),
        as(as),
        value([get = std::move(get)](const Row& row) { return to_fact(std::invoke(get, row)); }),
        key(std::move(key)),
        absent(std::move(absent)) {}
};

template <typename Row>
using Fields = std::vector<Field<Row>>;

/// Returns the fields of a member of a row.
template <typename Row, typename Part>
Fields<Row> part_fields(Part Row::*part, const Fields<Part>& fields) {
  Fields<Row> all;
  for (const Field<Part>& field : fields) {
    const auto value = [part, get = field.value](const Row& row) { return get(row.*part); };
    all.emplace_back(field.title, field.as, value, field.key, field.absent);
  }
  return all;
}

template <typename Row>
std::vector<TextTable::Column> columns(const Fields<Row>& fields) {
  std::vector<TextTable::Column> all;
  for (const Field<Row>& field : fields) {
    if (field.as != As::hidden) all.push_back(to_column(field.title, field.as));
  }
  return all;
}

template <typename Row>
std::vector<std::string> cells(const Fields<Row>& fields, const Row& row) {
  std::vector<std::string> all;
  all.reserve(fields.size());
  for (const Field<Row>& field : fields) {
    if (field.as != As::hidden) all.push_back(to_text(field.value(row), field.as, field.absent));
  }
  return all;
}

/// Returns the address of the row for an element of a list of rows or of pointers to rows.
template <typename Row>
const Row* row_of(const Row& row) {
  return &row;
}
template <typename Row>
const Row* row_of(const Row* row) {
  return row;
}

/// Returns a table of the first `max` rows, and how many more there are. `indent`: put before each line.
template <typename Row, typename List>
std::string rows_text(const Fields<Row>& fields, const List& rows,
                      std::size_t max = std::numeric_limits<std::size_t>::max(), const char* indent = "") {
  std::vector<TextTable::Column> titles = columns(fields);
  titles.front().title.insert(0, indent);
  return first_rows(TextTable(std::move(titles)), max, rows, [&](TextTable& table, const auto& row) {
    std::vector<std::string> texts = cells(fields, *row_of<Row>(row));
    const std::size_t count = texts.size();
    texts.front().insert(0, indent);
    table.add(std::move(texts));
    std::size_t column = 0;
    for (const Field<Row>& field : fields) {
      if (field.as == As::lines)
        add_further_lines(table, field.value(*row_of<Row>(row)), column, count, column == 0 ? indent : "");
      if (field.as != As::hidden) ++column;
    }
  });
}

/// Returns an object with the keys of a row.
template <typename Row>
nlohmann::ordered_json row_json(const Fields<Row>& fields, const Row& row) {
  nlohmann::ordered_json::object_t object;
  for (const Field<Row>& field : fields) {
    if (!field.key.empty()) object.emplace_back(field.key, field.value(row));
  }
  return object;
}

template <typename Row, typename List>
nlohmann::ordered_json rows_json(const Fields<Row>& fields, const List& rows) {
  nlohmann::ordered_json::array_t list;
  for (const auto& row : rows) list.push_back(row_json(fields, *row_of<Row>(row)));
  return list;
}

}  // namespace peakmark
