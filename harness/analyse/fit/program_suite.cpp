#include "analyse/fit/program_suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/sweep/description.hpp"

namespace peakmark {
namespace {

/// Returns the name of a variant that runs the command.
std::string variant_name(const std::vector<std::string>& command) {
  std::string name = program_name(command);
  std::ranges::replace_if(
      name, [](char c) { return !is_axis_name(std::string(1, c)); }, '_');
  return "program/" + name;
}

}  // namespace

std::string write_program_suite(const std::vector<std::string>& command,
                                const std::vector<std::pair<std::string, std::string>>& axes,
                                const std::filesystem::path& suite) {
  std::string variant = variant_name(command);
  // Strings and lists have the same syntax in JSON and TOML.
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
