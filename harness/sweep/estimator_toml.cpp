#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "sweep/nearest_word.hpp"
#include "sweep/program_toml.hpp"
#include "sweep/suite_keys.hpp"
#include "sweep/toml_reader.hpp"

namespace peakmark {
namespace {

class EstimatorReader : private TomlReader {
 public:
  explicit EstimatorReader(const std::filesystem::path& file) : TomlReader(file.string()) {
    estimator_.suite_folder = folder();
  }

  ExternalEstimator read(const toml::table& table) {
    estimator_.place = at(table, "estimator");
    for (const TomlEntry& entry : in_file_order(table)) read_key(entry, at(entry, ""));
    if (estimator_.call.empty()) {
      fail(estimator_.place, "says not what to call: call = \"python:package.module:function\"");
    }
    if (estimator_.name.empty()) estimator_.name = estimator_.call;
    return std::move(estimator_);
  }

 private:
  void read_key(const TomlEntry& entry, const Place& place) {
    only_known(place, entry.key, suite_keys::estimator());
    const toml::node& node = *entry.node;
    if (entry.key == "name") {
      estimator_.name = word(node, place);
      if (estimator_.name.empty()) fail(place, "the name is empty");
    } else if (entry.key == "call") {
      estimator_.call = word(node, place);
      check_here(place, [&] { check_estimator_call(estimator_.call); });
    } else if (entry.key == "form") {
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
      const Size seconds = integer(node, place);
      if (seconds < 1) fail(place, fmt::format("is 1 or more, not {}", seconds));
      estimator_.seconds = static_cast<double>(seconds);
    } else {
      unknown(place, entry.key, suite_keys::estimator());
    }
  }

  void read_dimensions(const toml::node& node, const Place& place) {
    for (const Placed<AxisValue>& one : list(node, place)) {
      check_here(one.place, [&] { estimator_.other_dimensions.emplace_back(to_text(one.value)); });
    }
    if (estimator_.other_dimensions.size() != 2) {
      fail(place, fmt::format("are two, as an image has: [\"ny\", \"nx\"]; here are {}",
                              estimator_.other_dimensions.size()));
    }
  }

  void read_parameters(const toml::node& node, const Place& place) {
    estimator_.parameters.emplace();
    if (node.is_array() && node.as_array()->empty()) return;
    for (Placed<std::string>& one : words(node, place)) estimator_.parameters->push_back(one.value);
  }

  ExternalEstimator estimator_;
};

}  // namespace

std::shared_ptr<const ExternalEstimator> read_external_estimator(const toml::table& table,
                                                                 const std::filesystem::path& file) {
  return std::make_shared<const ExternalEstimator>(EstimatorReader(file).read(table));
}

}  // namespace peakmark
