#include "measure/sweep/program_toml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "measure/sweep/external_estimator.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/sweep/suite_keys.hpp"
#include "measure/sweep/toml_reader.hpp"

namespace peakmark {

namespace {

class ProgramReader : private TomlReader {
 public:
  explicit ProgramReader(const std::filesystem::path& file) : TomlReader(file.string()) {
    program_.suite_folder = folder();
  }

  ProgramDescription read(const toml::table& table) {
    program_.place = at(table, "program");
    program_.variant.backends = {"opencl", "cuda"};
    each_key(table, "", suite_words("program"), [this](const auto&... of) { read_key(of...); });
    if (program_.variant.name.empty()) fail(program_.place, "no variant: add variant = \"padding/theirs\"");
    if (program_.command.empty())
      fail(program_.place, "no command: add command = [\"{python}\", \"script.py\"]");
    check_slice_axis();
    check_output_dtype();
    check_texts();
    return std::move(program_);
  }

 private:
  void read_key(const TomlEntry& entry, const SourceLocation& place) {
    const toml::node& node = *entry.node;
    VariantDescription& variant = program_.variant;
    if (entry.key == "variant") {
      variant.name = variant_name(word(node, place), place);
    } else if (entry.key == "help") {
      variant.help = word(node, place);
    } else if (entry.key == "command") {
      command_place_ = place;
      if (node.is_string()) {
        fail(place,
             "must be a list of words: [\"./run\", \"{n}\"], or for a shell [\"sh\", \"-c\", \"make && ./run "
             "\\\"$1\\\"\", \"sh\", \"{n}\"]");
      }
      for (Located<std::string>& one : words(node, place)) program_.command.push_back(std::move(one.value));
    } else if (entry.key == "environment") {
      read_environment(node, place);
    } else if (entry.key == "python") {
      program_.python = word(node, place);
      if (program_.python.empty()) fail(place, "empty name");
    } else if (entry.key == "python_made_by") {
      program_.python_made_by = word(node, place);
    } else if (entry.key == "backends") {
      variant.backends = backends(node, place);
    } else if (entry.key == "sync") {
      program_.sync = truth(node, place);
    } else if (entry.key == "time") {
      read_time(word(node, place), place);
    } else if (entry.key == "axes") {
      read_axes(node, place);
    } else if (entry.key == "slice_axis") {
      variant.slice_axis = word(node, place);
      slice_axis_place_ = place;
    } else if (entry.key == "slice_dimension") {
      const Size dimension = integer(node, place);
      if (dimension != 0 && dimension != 1) {
        fail(place, fmt::format("must be 0 (projection) or 1 (sinogram), not {}", dimension));
      }
      variant.slice_dimension = static_cast<int>(dimension);
    } else if (entry.key == "output_dtype") {
      program_.output_dtype = word(node, place);
      output_dtype_place_ = place;
    } else if (entry.key == "destroys_input") {
      variant.destroys_input = truth(node, place);
    } else if (entry.key == "estimator") {
      program_.estimator = word(node, place);
    }
  }

  /// Checks OPERATION/NAME, the beginning of case names.
  static std::string variant_name(std::string name, const SourceLocation& place) {
    if (!is_variant_name(name)) {
      fail(place,
           fmt::format("malformed variant name '{}': write OPERATION/WAY with letters, digits and - _ . +",
                       name));
    }
    return name;
  }

  static std::vector<std::string> backends(const toml::node& node, const SourceLocation& place) {
    const std::vector<std::string> known{"cuda", "opencl"};
    std::vector<std::string> named;
    for (const Located<std::string>& backend : words(node, place)) {
      if (std::ranges::find(known, backend.value) == known.end()) {
        fail(backend.place, fmt::format("unsupported backend of a program: '{}'{}", backend.value,
                                        suggest_word(backend.value, known)));
      }
      named.push_back(backend.value);
    }
    return named;
  }

  void read_time(const std::string& of, const SourceLocation& place) {
    const std::vector<std::string> known{"device", "host"};
    if (std::ranges::find(known, of) == known.end()) {
      fail(place, fmt::format("must be 'host' or 'device', not '{}'{}", of, suggest_word(of, known)));
    }
    program_.device_time = of == "device";
  }

  void read_environment(const toml::node& node, const SourceLocation& place) {
    const toml::table* table = node.as_table();
    if (table == nullptr) fail(place, "must be a table: environment = { NAME = \"value\" }");
    for (const TomlEntry& entry : in_file_order(*table)) {
      const SourceLocation here = at(entry, "environment.");
      if (entry.key.empty() || entry.key.find('=') != std::string::npos)
        fail(here, "malformed name of a variable");
      program_.environment.emplace_back(entry.key, word(*entry.node, here));
      environment_places_.push_back(here);
    }
  }

  void read_axes(const toml::node& node, const SourceLocation& place) {
    const toml::table* table = node.as_table();
    if (table == nullptr) fail(place, "must be a table of axes: axes.nx = { default = 512, min = 1 }");
    for (const TomlEntry& entry : in_file_order(*table)) {
      const SourceLocation here = at(entry, "axes.");
      if (!is_axis_name(entry.key)) {
        fail(here, "malformed axis name: use letters, digits and - _");
      }
      const auto& taken = program_place_names();
      if (entry.key == "variant" || entry.key == "backend" ||
          std::ranges::find(taken, entry.key) != taken.end()) {
        fail(here, fmt::format("reserved name '{}': give the axis another name", entry.key));
      }
      program_.variant.axes.push_back(read_axis(entry, here));
    }
  }

  AxisDescription read_axis(const TomlEntry& axis_entry, const SourceLocation& place) {
    AxisDescription axis;
    axis.name = axis_entry.key;
    const toml::table* table = axis_entry.node->as_table();
    if (table == nullptr) {
      axis.default_value = scalar(*axis_entry.node, place).value;
    } else {
      bool has_default = false;
      const std::vector<std::string>& keys = suite_words("program_axis");
      each_key(*table, place.key + ".", keys, [&](const TomlEntry& entry, const SourceLocation& here) {
        if (entry.key == "default") {
          axis.default_value = scalar(*entry.node, here).value;
          has_default = true;
        } else if (entry.key == "min") {
          axis.min = integer(*entry.node, here);
        } else if (entry.key == "choices") {
          for (Located<std::string>& choice : words(*entry.node, here)) axis.choices.push_back(choice.value);
        } else {  // help
          axis.help = word(*entry.node, here);
        }
      });
      if (!has_default) fail(place, "no default: { default = 512, min = 1 }");
      const bool is_word = std::holds_alternative<std::string>(axis.default_value);
      const bool is_integer = std::holds_alternative<Size>(axis.default_value);
      if (is_word && table->contains("min")) fail(place, "a word axis has choices, not min");
      if (is_integer && table->contains("choices")) fail(place, "an integer axis has min, not choices");
      if (!is_word && !is_integer && (table->contains("min") || table->contains("choices")))
        fail(place, "a floating-point axis has neither min nor choices");
    }
    check_here(place, [&] {
      check_axis_value(axis, axis.default_value);
      for (const std::string& choice : axis.choices) check_axis_value(axis, choice);
    });
    return axis;
  }

  void check_slice_axis() const {
    const VariantDescription& variant = program_.variant;
    if (variant.slice_axis.empty()) return;
    check_here(slice_axis_place_, [&] {
      const AxisDescription& axis = variant.known_axis(variant.slice_axis);
      if (!std::holds_alternative<Size>(axis.default_value))
        throw UsageError(
            fmt::format("axis '{}' is not an integer axis, as the slice axis must be", axis.name));
    });
  }

  void check_output_dtype() const {
    if (program_.output_dtype.empty()) return;
    check_here(output_dtype_place_, [&] {
      const AxisDescription* const axis = program_.variant.axis(program_.output_dtype);
      if (axis == nullptr) {
        check_estimator_dtype(program_.output_dtype);
        return;
      }
      for (const std::string& word : axis->choices) check_estimator_dtype(word);
      if (axis->choices.empty())
        throw UsageError(
            fmt::format("axis '{}' lists no dtypes: add choices = [\"float32\", \"uint16\"]", axis->name));
    });
  }

  void check_texts() const {
    if (program_.command.front().find_first_not_of(" \t\n") == std::string::npos) {
      fail(command_place_, "empty program name: write [\"./run\", \"{n}\"]");
    }
    for (const std::string& text : program_.command) check_text(text, command_place_);
    for (std::size_t i = 0; i < program_.environment.size(); ++i) {
      check_text(program_.environment[i].second, environment_places_[i]);
    }
  }

  void check_text(const std::string& text, const SourceLocation& place) const {
    check_here(place, [&] { check_placeholders(text, program_.variant); });
  }

  ProgramDescription program_;
  SourceLocation command_place_;
  SourceLocation slice_axis_place_;
  SourceLocation output_dtype_place_;
  std::vector<SourceLocation> environment_places_;
};

}  // namespace

std::shared_ptr<const ProgramDescription> read_program(const toml::table& table,
                                                       const std::filesystem::path& file) {
  return std::make_shared<const ProgramDescription>(ProgramReader(file).read(table));
}

namespace {

class EstimatorReader : private TomlReader {
 public:
  explicit EstimatorReader(const std::filesystem::path& file) : TomlReader(file.string()) {
    estimator_.suite_folder = folder();
  }

  ExternalEstimator read(const toml::table& table) {
    estimator_.place = at(table, "estimator");
    each_key(table, "", suite_words("estimator"), [this](const auto&... of) { read_key(of...); });
    if (!estimator_.formulas.empty()) {
      check_formulas();
    } else if (estimator_.call.empty()) {
      fail(estimator_.place,
           "no call: add call = \"python:package.module:function\", or bytes = \"FORMULA\"");
    }
    if (estimator_.name.empty()) estimator_.name = estimator_.call;
    return std::move(estimator_);
  }

 private:
  void read_key(const TomlEntry& entry, const SourceLocation& place) {
    const toml::node& node = *entry.node;
    if (entry.key == "name") {
      estimator_.name = word(node, place);
      if (estimator_.name.empty()) fail(place, "empty name");
    } else if (entry.key == "call") {
      estimator_.call = word(node, place);
      check_here(place, [&] { check_estimator_call(estimator_.call); });
    } else if (entry.key == "bytes") {
      estimator_.formulas.push_back({place, {}, read_bytes(node, place)});
      has_bytes_ = true;
    } else if (entry.key == "formula") {
      for (const toml::table* const one : tables(node, place, "[[estimator.formula]]"))
        estimator_.formulas.push_back(read_formula(*one));
    } else if (entry.key == "form") {
      has_form_ = true;
      estimator_.form = word(node, place);
      check_here(place, [&] { check_estimator_form(estimator_.form); });
    } else if (entry.key == "other_dimensions") {
      read_dimensions(node, place);
    } else if (entry.key == "dtype") {
      estimator_.dtype = word(node, place);
      check_here(place, [&] { check_estimator_dtype(estimator_.dtype); });
    } else if (entry.key == "parameters") {
      read_parameters(node, place);
    } else if (entry.key == "output_dimensions") {
      estimator_.output_dimensions = word(node, place);
      check_here(place, [&] { check_function_beside(estimator_.output_dimensions); });
    } else if (entry.key == "padding") {
      estimator_.padding = word(node, place);
      check_here(place, [&] { check_function_beside(estimator_.padding); });
    } else if (entry.key == "python") {
      estimator_.python = word(node, place);
    } else if (entry.key == "seconds") {
      const std::optional<double> seconds = node.value<double>();
      if (!seconds) fail(place, "must be a number of seconds");
      if (!(*seconds >= 0.1 && *seconds <= 1e6))
        fail(place, fmt::format("must be 0.1 to 1e6, not {:g}", *seconds));
      estimator_.seconds = *seconds;
    }
  }

  static Formula read_bytes(const toml::node& node, const SourceLocation& place) {
    const std::string text = word(node, place);
    return check_here(place, [&] { return Formula(text); });
  }

  EstimatorFormula read_formula(const toml::table& table) {
    EstimatorFormula formula{at(table, "estimator.formula"), {}, Formula("0")};
    bool has_bytes = false;
    const std::vector<std::string>& keys = suite_words("estimator_formula");
    each_key(table, "estimator.formula.", keys, [&](const TomlEntry& entry, const SourceLocation& place) {
      if (entry.key == "bytes") {
        formula.bytes = read_bytes(*entry.node, place);
        has_bytes = true;
      } else {
        formula.when = conditions(*entry.node, place);
        for (const CaseCondition& condition : formula.when) {
          if (condition.key == "backend") fail(condition.place, "formulas are for axes and variants");
        }
      }
    });
    if (!has_bytes) fail(formula.place, "no formula: add bytes = \"4 * n * ny * nx\"");
    return formula;
  }

  void check_formulas() {
    if (has_bytes_ && estimator_.formulas.size() > 1)
      fail(estimator_.place, "has `bytes` and [[estimator.formula]]: keep one");
    const bool is_called = !estimator_.call.empty() || has_form_ || !estimator_.other_dimensions.empty() ||
                           estimator_.parameters || !estimator_.dtype.empty() ||
                           !estimator_.output_dimensions.empty() || !estimator_.padding.empty() ||
                           !estimator_.python.empty();
    if (is_called) fail(estimator_.place, "has a formula, and keys of a call: leave these out");
    if (estimator_.name.empty()) fail(estimator_.place, "no name: add name = \"explained\"");
    estimator_.form = "formula";
  }

  void read_dimensions(const toml::node& node, const SourceLocation& place) {
    for (const Located<AxisValue>& one : list(node, place)) {
      check_here(one.place, [&] { estimator_.other_dimensions.emplace_back(to_text(one.value)); });
    }
    if (estimator_.other_dimensions.size() != 2) {
      fail(place,
           fmt::format("must be two, such as [\"ny\", \"nx\"], not {}", estimator_.other_dimensions.size()));
    }
  }

  void read_parameters(const toml::node& node, const SourceLocation& place) {
    estimator_.parameters.emplace();
    if (node.is_array() && node.as_array()->empty()) return;
    for (Located<std::string>& one : words(node, place)) estimator_.parameters->push_back(one.value);
  }

  ExternalEstimator estimator_;
  bool has_bytes_ = false;
  bool has_form_ = false;
};

}  // namespace

std::shared_ptr<const ExternalEstimator> read_external_estimator(const toml::table& table,
                                                                 const std::filesystem::path& file) {
  return std::make_shared<const ExternalEstimator>(EstimatorReader(file).read(table));
}

}  // namespace peakmark
