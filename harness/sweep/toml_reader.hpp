#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sweep/suite_document.hpp"

namespace peakmark {

/// The key whose value reaches to this place of a text, dotted where it stands in an inline table, as it is
/// written: for what the TOML parser itself refuses, of which it tells only the place. Lines and columns
/// count from 1. Empty where no value is being read.
std::string key_at(std::string_view toml, std::uint32_t line, std::uint32_t column);

// For .cpp files only: toml++ costs seconds.

/// A key of a table with its value.
struct TomlEntry {
  std::string key;
  const toml::node* node;
  toml::source_position position;
};

/// toml++ keeps tables sorted by key: this restores the order of the file.
std::vector<TomlEntry> in_file_order(const toml::table& table);

/// Values of a suite file as they are wanted. What is of another form is a UsageError with file, line and
/// key.
class TomlReader {
 public:
  explicit TomlReader(std::string file_name) : file_name_(std::move(file_name)) {}

  /// The file as messages name it.
  [[nodiscard]] const std::string& file_name() const { return file_name_; }
  [[nodiscard]] SourceLocation at(const TomlEntry& entry, const std::string& above) const;
  /// Of a table that describes something, such as `[[program]]`.
  [[nodiscard]] SourceLocation at(const toml::table& table, const std::string& key) const {
    return {file_name_, table.source().begin.line, key};
  }
  /// From which the suite's paths are seen.
  [[nodiscard]] std::filesystem::path folder() const {
    return std::filesystem::absolute(file_name_).parent_path().lexically_normal();
  }

  /// What `step` finds wrong is told with its place.
  template <typename Step>
  static void check_here(const SourceLocation& place, Step step) {
    try {
      step();
    } catch (const UsageError& error) {
      fail(place, error.what());
    }
  }

  static std::string word(const toml::node& node, const SourceLocation& place);
  /// A text, or a list of texts.
  static std::vector<Located<std::string>> words(const toml::node& node, const SourceLocation& place);
  static bool truth(const toml::node& node, const SourceLocation& place);
  static Size integer(const toml::node& node, const SourceLocation& place);
  static Located<AxisValue> scalar(const toml::node& node, const SourceLocation& place);
  /// A value, or a list that is not empty.
  static std::vector<Located<AxisValue>> list(const toml::node& node, const SourceLocation& place);
  /// `form` says how it is written.
  static std::vector<const toml::table*> tables(const toml::node& node, const SourceLocation& place,
                                                std::string_view form);

  /// Else it is `unknown`: what no list has, no reader takes.
  static void only_known(const SourceLocation& place, const std::string& key,
                         const std::vector<std::string>& known);
  [[noreturn]] static void unknown(const SourceLocation& place, const std::string& key,
                                   const std::vector<std::string>& known);

 private:
  std::string file_name_;
};

}  // namespace peakmark
