#include "fit/program_suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "runfile/json_fields.hpp"
#include "sweep/description.hpp"

namespace peakmark {
namespace {

/// Returns the name of a program for people: of `python -u train.py` the script.
std::string program_name(const std::vector<std::string>& command) {
  const auto file_name = [](const std::string& word) {
    return std::filesystem::path(word).filename().string();
  };
  std::string name = file_name(command.front());
  if (name.starts_with("python")) {
    const auto script = std::ranges::find_if(command.begin() + 1, command.end(),
                                             [](const std::string& word) { return !word.starts_with('-'); });
    if (script != command.end()) name = file_name(*script);
  }
  std::ranges::replace_if(
      name, [](char c) { return !is_axis_name(std::string(1, c)); }, '_');
  return name;
}

}  // namespace

std::string write_program_suite(const std::vector<std::string>& command,
                                const std::vector<std::pair<std::string, std::string>>& axes,
                                const std::filesystem::path& suite) {
  std::string variant = "program/" + program_name(command);
  // Strings and lists of JSON are those of TOML.
  const auto quoted = [](const std::string& text) { return json_fields::Json(text).dump(); };
  std::ofstream file(suite);
  file << "name = \"program\"\n[[program]]\nvariant = " << quoted(variant)
       << "\nsync = true\ncommand = " << json_fields::Json(command).dump() << "\n";
  for (const auto& [axis, value] : axes)
    file << "axes." << quoted(axis) << " = " << (parse_number<Size>(value) ? value : quoted(value)) << "\n";
  file << "[[sweep]]\nvariants = " << quoted(variant) << "\n";
  if (!file.flush()) throw IoError(suite.string() + ": cannot be written");
  return variant;
}

}  // namespace peakmark
