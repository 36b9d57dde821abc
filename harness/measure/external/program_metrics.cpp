#include "measure/external/program_metrics.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxShownBytes = 80;

void read_line(const std::string& line, Observation& observation) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.empty()) return;
  const bool has_direction = words.size() == 3 && (words[2] == metric_direction::higher ||  //
                                                   words[2] == metric_direction::lower);
  if (words.size() != 2 && !has_direction)
    throw UsageError(
        fmt::format("'{}' is not a metric: write NAME VALUE, and higher or lower if it is better",
                    shortened(line, kMaxShownBytes)));
  const std::optional<double> value = parse_number<double>(words[1]);
  if (!value)
    throw UsageError(
        fmt::format("metric '{}' is '{}': report a number", words[0], shortened(words[1], kMaxShownBytes)));
  add_metric(observation, words[0], *value, has_direction ? words[2] : "");
}

}  // namespace

void read_metrics(const std::filesystem::path& file, Observation& observation) {
  std::ifstream stream(file);
  if (!stream) return;
  Observation read;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    try {
      read_line(line, read);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("$PEAKMARK_METRICS, line {}: {}", number, error.what()));
    }
  }
  if (read.metrics.empty()) return;
  observation.metrics = std::move(read.metrics);
  observation.metric_directions = std::move(read.metric_directions);
}

}  // namespace peakmark
