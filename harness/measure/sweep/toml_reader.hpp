#pragma once

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {

// For .cpp files only: toml++ takes seconds to compile.

/// A key of a table and its value.
struct TomlEntry {
  std::string key;
  const toml::node* node;
  toml::source_position position;
};

/// Returns the entries in the order of the file, because toml++ sorts tables by key.
std::vector<TomlEntry> in_file_order(const toml::table& table);

/// Reads typed values of a suite file. Throws UsageError with file, line and key if a value has another type.
class TomlReader {
 public:
  explicit TomlReader(std::string file_name) : file_name_(std::move(file_name)) {}

  /// Returns the file for messages.
  [[nodiscard]] const std::string& file_name() const { return file_name_; }
  [[nodiscard]] SourceLocation at(const TomlEntry& entry, const std::string& above) const;
  /// Returns the position of a table such as `[[program]]`.
  [[nodiscard]] SourceLocation at(const toml::table& table, const std::string& key) const {
    return {file_name_, table.source().begin.line, key};
  }
  /// Returns the folder to which paths in the suite are relative.
  [[nodiscard]] std::filesystem::path folder() const {
    return std::filesystem::absolute(file_name_).parent_path().lexically_normal();
  }

  static std::string word(const toml::node& node, const SourceLocation& place);
  /// Reads a text or a list of texts.
  static std::vector<Located<std::string>> words(const toml::node& node, const SourceLocation& place);
  static bool truth(const toml::node& node, const SourceLocation& place);
  static Size integer(const toml::node& node, const SourceLocation& place);
  static Located<AxisValue> scalar(const toml::node& node, const SourceLocation& place);
  /// Reads a value or a list that is not empty.
  static std::vector<Located<AxisValue>> list(const toml::node& node, const SourceLocation& place);
  /// Reads conditions on cases: `{ mode = ["edge", "wrap"], n = 1 }`.
  [[nodiscard]] std::vector<CaseCondition> conditions(const toml::node& node,
                                                      const SourceLocation& place) const;
  /// Reads an array of tables. `form`: its syntax, for messages.
  static std::vector<const toml::table*> tables(const toml::node& node, const SourceLocation& place,
                                                std::string_view form);

  /// Calls `read(entry, place)` for the entries in the order of the file. `above`: what is before the key
  /// in messages. Throws for a key that is not `known`.
  template <typename Read>
  void each_key(const toml::table& table, const std::string& above, const std::vector<std::string>& known,
                Read&& read) const {
    for (const TomlEntry& entry : in_file_order(table)) {
      const SourceLocation place = at(entry, above);
      if (std::ranges::find(known, entry.key) == known.end()) unknown(place, entry.key, known);
      read(entry, place);
    }
  }
  [[noreturn]] static void unknown(const SourceLocation& place, const std::string& key,
                                   const std::vector<std::string>& known);

 private:
  std::string file_name_;
};

}  // namespace peakmark
