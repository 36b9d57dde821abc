#include "analyse/fit/fit_request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/sweep/description.hpp"
#include "measure/sweep/formula.hpp"

namespace peakmark {
namespace {

/// Returns the axes of `2*nx` if all are axes of the request; empty for other text, such as `/data/nx`.
std::vector<std::string> formula_axes(const FitRequest& request, const std::string& text) {
  const auto is_axis = [&](const std::string& name) {
    if (name == request.axis.name || (request.other && name == request.other->name)) return true;
    return std::ranges::any_of(
        request.values, [&](const std::string& other) { return split_key_value(other).first == name; });
  };
  try {
    std::vector<std::string> axes = Formula(text).axes();
    if (std::ranges::all_of(axes, is_axis)) return axes;
  } catch (const UsageError&) {
  }
  return {};
}

/// Throws UsageError if neither the program nor the formula of another axis reads the axis.
void check_is_read(const FitRequest& request, const std::string& axis) {
  const std::string placeholder = "{" + axis + "}";
  const auto has_placeholder = [&](const std::string& word) {
    return word.find(placeholder) != std::string::npos;
  };
  const auto is_in_formula = [&](const std::string& text) {
    const std::vector<std::string> axes = formula_axes(request, split_key_value(text).second);
    return std::ranges::find(axes, axis) != axes.end();
  };
  if (std::ranges::any_of(request.command, has_placeholder)) return;
  if (std::ranges::any_of(request.values, is_in_formula)) return;
  throw UsageError(fmt::format("the program does not read the axis '{}': write {} where its value belongs",
                               axis, placeholder));
}

}  // namespace

void use_program(FitRequest& request, const ScratchFolder& folder) {
  const std::vector<std::string>& command = request.command;
  check_is_read(request, request.axis.name);
  if (request.other) check_is_read(request, request.other->name);
  for (const std::string& text : request.values) check_is_read(request, split_key_value(text).first);
  std::vector<std::pair<std::string, std::string>> axes;
  const auto add_free = [&](const FreeAxis& axis) {
    axes.emplace_back(axis.name, std::to_string(axis.range ? axis.range->first : 1));
  };
  add_free(request.axis);
  if (request.other) add_free(*request.other);
  for (const std::string& text : request.values) {
    const auto [axis, value] = split_key_value(text);
    // A formula is evaluated here; the program gets an integer.
    axes.emplace_back(axis, formula_axes(request, value).empty() ? value : "1");
  }
  const std::filesystem::path suite = folder.path() / "fit.toml";
  request.variant = write_program_suite(command, axes, suite);
  request.sweep.selection.suites = {suite};
}

std::string reproduce_command(const FitRequest& request, const DeviceInfo& device, Size budget_bytes,
                              Size value, Size other) {
  const SweepOptions& sweep = request.sweep;
  std::vector<std::string> words{"peakmark", "fit"};
  if (request.command.empty()) {
    for (const auto& suite : sweep.selection.suites) words.push_back(suite.string());
    words.push_back(request.variant);
  }
  words.push_back(fmt::format("{}={}..{}", request.axis.name, value, value));
  if (request.other) words.push_back(fmt::format("{}={}", request.other->name, other));
  words.insert(words.end(), request.values.begin(), request.values.end());
  words.push_back(fmt::format("--budget={}", budget_bytes));
  if (sweep.max_allocation) words.push_back(fmt::format("--max-allocation={}", *sweep.max_allocation));
  // The value is run regardless of the prediction.
  words.push_back(fmt::format("--predict={}", to_string(Predictor::recordings)));
  words.push_back(fmt::format("--backend={}", to_string(device.backend)));
  if (device.backend != Backend::dry) words.push_back(fmt::format("--device={}", device.index));
  if (sweep.worker) words.push_back("--worker=" + *sweep.worker);
  if (sweep.case_limit != CaseLimit{})
    words.push_back(fmt::format("--timeout={:g}", static_cast<double>(sweep.case_limit.base.count()) / 1000));
  if (!request.command.empty()) words.emplace_back("--");
  words.insert(words.end(), request.command.begin(), request.command.end());
  for (std::string& word : words) word = shell_word(word);
  return fmt::format("{}", fmt::join(words, " "));
}

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
