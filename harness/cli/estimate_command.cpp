#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/size.hpp"
#include "cli/command.hpp"
#include "run/estimate_question.hpp"
#include "run/worker_program.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark::cli {
namespace {

struct Options {
  std::string variant;
  std::vector<std::string> parameters;
  std::optional<std::string> available;
  std::optional<std::string> estimator;
  std::optional<std::string> worker;
  bool json = false;
};

const VariantDescription& find_variant(const Description& description, const std::string& name) {
  if (const VariantDescription* variant = description.variant(name)) return *variant;
  throw UsageError("no variant '" + name + "'" + suggest_word(name, description.variant_names()));
}

std::string bytes_text(std::optional<Size> bytes) {
  return bytes ? fmt::format("{} ({} bytes)", format_size(*bytes), *bytes) : "unknown";
}

void print(const VariantDescription& variant, const EstimateReply& reply) {
  fmt::print("{}\n", variant.name);
  fmt::print("  slices along {}: {}\n", variant.slice_axis,
             reply.slices ? std::to_string(*reply.slices) : "unknown");
  fmt::print("  bytes: {}\n", bytes_text(reply.bytes));
  fmt::print("  output: {}\n", reply.dtype.value_or("unknown"));
  if (reply.terms.empty()) return;
  fmt::print("  terms, bytes a slice and once:\n");
  std::size_t width = 0;
  for (const EstimateTerm& term : reply.terms) width = std::max(width, term.name.size());
  for (const EstimateTerm& term : reply.terms) {
    fmt::print("    {:<{}}  {:>16}  {:>16}\n", term.name, width, term.per_slice_bytes, term.fixed_bytes);
  }
}

void estimate(const Options& options) {
  const std::filesystem::path worker = find_worker(options.worker);
  const Description description = describe_worker(worker);
  const VariantDescription& variant = find_variant(description, options.variant);
  const Parameters parameters = parse_parameters(variant, options.parameters);
  std::optional<Size> available;
  if (options.available) available = parse_size(*options.available);
  const EstimateReply reply =
      ask_estimator(worker, estimate_question(variant, parameters, available, options.estimator));
  if (reply.error) throw UsageError(variant.name + ": " + *reply.error);
  if (options.json) {
    fmt::print("{}", estimate_json(variant.name, parameters, available, reply));
  } else {
    print(variant, reply);
  }
}

}  // namespace

void add_estimate_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand("estimate", "Ask a variant's estimator");
  command->add_option("VARIANT", options->variant, "Such as padding/coords1d")->required();
  command->add_option("KEY=VALUE", options->parameters, "Axes, such as n=20; the others at their default");
  command->add_option("--available", options->available,
                      "Memory, such as 16GiB: how many slices fit? Without it: how many bytes are needed?");
  command->add_option("--estimator", options->estimator, "One of the variant's other estimators");
  command->add_option("--worker", options->worker,
                      "Program that knows the variants; default: peakmark-bench");
  command->add_flag("--json", options->json, "Print the answer as JSON");
  command->footer("Exit code: 0 clean, 2 wrong usage, or an estimator that gives no answer.");
  command->callback([options] { estimate(*options); });
}

}  // namespace peakmark::cli
