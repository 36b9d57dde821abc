#include "measure/worker/variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "measure/worker/abi.hpp"

namespace peakmark {

using backend::Device;
namespace {

std::string text(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

AxisDescription read_axis(const peakmark_axis& abi) {
  AxisDescription axis;
  axis.name = abi.name;
  axis.help = text(abi.help);
  switch (abi.type) {
    case PEAKMARK_INTEGER:
      axis.default_value = Size{abi.default_value.integer};
      axis.min = abi.minimum;
      return axis;
    case PEAKMARK_FLOAT:
      axis.default_value = abi.default_value.floating + 0.0;  // -0 becomes 0
      return axis;
    case PEAKMARK_WORD:
      axis.default_value = std::string(abi.default_value.word);
      for (const char* choice : std::span(abi.choices, abi.choice_count)) axis.choices.emplace_back(choice);
      return axis;
    default:
      throw UsageError(
          fmt::format("axis '{}' has the unknown type {}; build the worker anew with this peakmark",
                      axis.name, abi.type));
  }
}

DType output_dtype_of(const peakmark_variant& variant, const Parameters& parameters) {
  if (variant.output_dtype != nullptr) return parse_dtype(variant.output_dtype);
  const AxisValue* value = parameters.find("dtype");
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return word == nullptr ? DType::f32 : parse_dtype(*word);
}

/// Throws UsageError for an unknown element type, which would later look like an error of the suite. In an
/// axis `dtype` that peakmark does not use, any word is valid.
void check_dtypes(const VariantDescription& variant, const peakmark_variant& abi) {
  const std::string output_dtype = text(abi.output_dtype);
  const auto check = [&](const std::string& whose, const std::string& name) {
    try {
      parse_dtype(name);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("variant {}: {}: {}", variant.name, whose, error.what()));
    }
  };
  if (!output_dtype.empty()) check("its output_dtype", output_dtype);
  if (!output_dtype.empty() && abi.estimator_count == 0) return;
  const AxisDescription* const axis = variant.axis("dtype");
  const auto* word = axis == nullptr ? nullptr : std::get_if<std::string>(&axis->default_value);
  if (word == nullptr) return;
  check("its axis dtype", *word);
  for (const std::string& choice : axis->choices) check("its axis dtype", choice);
}

/// Throws UsageError if two estimators have the same name, by which suites and verdicts choose them.
void check_estimators(const VariantDescription& variant, std::span<const peakmark_estimator> estimators) {
  for (auto one = estimators.begin(); one != estimators.end(); ++one) {
    const auto is_namesake = [&](const auto& other) { return text(other.name) == text(one->name); };
    if (std::any_of(estimators.begin(), one, is_namesake)) {
      throw UsageError(fmt::format(
          "variant {}: two of its estimators are called '{}'; give one of them another name, as the last "
          "argument of Estimator::of_bytes and its like",
          variant.name, text(one->name)));
    }
  }
}

VariantDescription read_description(const peakmark_variant& abi) {
  VariantDescription description;
  description.name = text(abi.name);
  description.help = text(abi.help);
  for (const peakmark_axis& axis : std::span(abi.axes, abi.axis_count))
    description.axes.push_back(read_axis(axis));
  check_variant(description);
  check_dtypes(description, abi);
  for (const char* backend : std::span(abi.backends, abi.backend_count)) {
    try {
      parse_backend(backend);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("variant {}: {}", description.name, error.what()));
    }
    description.backends.emplace_back(backend);
  }
  if (description.backends.empty()) {
    throw UsageError(
        fmt::format("variant {} names no backend; name those that it runs on: {{\"opencl\"}}, "
                    "{{\"cuda\"}}, and \"dry\" if it allocates with Device::create only",
                    description.name));
  }
  description.slice_axis = text(abi.slice_axis);
  check_estimators(description, std::span(abi.estimators, abi.estimator_count));
  if (abi.slice_dimension != 0 && abi.slice_dimension != 1) {
    throw UsageError(
        fmt::format("variant {}: its slice_dimension is {}; write 0 (projection) or 1 (sinogram)",
                    description.name, abi.slice_dimension));
  }
  description.slice_dimension = abi.slice_dimension;
  description.destroys_input = abi.destroys_input != 0;
  if (abi.make == nullptr) {
    throw UsageError(fmt::format(
        "variant {}: the function that makes its cases is empty; give Worker::add one that returns Steps",
        description.name));
  }
  return description;
}

}  // namespace

CaseInstance::CaseInstance(const peakmark_variant& variant, Device& device, const Parameters& parameters)
    : output_dtype_(output_dtype_of(variant, parameters)), device_(abi_device(device)) {
  const AbiCase asked(parameters);
  peakmark_failure failure{};
  variant.make(variant.self, &device_, asked.abi(), &made_, &failure);
  if (failure.kind == PEAKMARK_USAGE) {
    throw WorkerMistake(
        fmt::format("variant {}: what makes its cases (a constructor, or the function given to Worker::add) "
                    "threw: {} (report invalid cases in the variant's `mistake`)",
                    variant.name, failure.message));
  }
  raise_failure(failure);
}

void CaseInstance::step(std::int32_t which) {
  call_program([&](peakmark_failure* failure) { made_.step(made_.self, which, failure); });
}

std::optional<std::string> CaseInstance::verify() {
  peakmark_failure failure{};
  made_.step(made_.self, PEAKMARK_VERIFY, &failure);
  if (failure.kind == PEAKMARK_WRONG_ANSWER) return failure.message;
  raise_failure(failure);
  return std::nullopt;
}

std::optional<Size> CaseInstance::bytes_moved() const {
  const Size bytes =
      call_program([&](peakmark_failure* failure) { return made_.bytes_moved(made_.self, failure); });
  return bytes < 0 ? std::nullopt : std::optional<Size>(bytes);
}

std::optional<double> CaseInstance::flops() const {
  if (made_.flops == nullptr) return std::nullopt;
  const double count =
      call_program([&](peakmark_failure* failure) { return made_.flops(made_.self, failure); });
  return count < 0 ? std::nullopt : std::optional<double>(count);
}

std::vector<CaseInstance::Metric> CaseInstance::metrics() const {
  std::vector<Metric> metrics;
  if (made_.metrics == nullptr) return metrics;
  const auto add = [](void* sink, const char* name, double value, std::int32_t better) {
    static_cast<std::vector<Metric>*>(sink)->push_back({text(name), value, better});
  };
  call_program([&](peakmark_failure* failure) { made_.metrics(made_.self, add, &metrics, failure); });
  return metrics;
}

RegisteredVariant::RegisteredVariant(const peakmark_variant& abi)
    : description(read_description(abi)), abi_(&abi) {
  estimators.reserve(abi.estimator_count);
  for (const peakmark_estimator& estimator : std::span(abi.estimators, abi.estimator_count)) {
    const RegisteredEstimator& added = estimators.emplace_back(estimator, abi);
    description.estimators.push_back({std::string(added.name()), std::string(added.form())});
  }
}

void RegisteredVariant::check(const Parameters& parameters) const {
  if (abi_->check == nullptr) return;
  const AbiCase asked(parameters);
  peakmark_failure failure{};
  abi_->check(abi_->self, asked.abi(), &failure);
  if (failure.kind == PEAKMARK_BROKEN)
    throw WorkerMistake(fmt::format("variant {}: its `mistake` threw: {}", abi_->name, failure.message));
  raise_failure(failure);
}

DType RegisteredVariant::output_dtype(const Parameters& parameters) const {
  return output_dtype_of(*abi_, parameters);
}

std::unique_ptr<CaseInstance> RegisteredVariant::make(Device& device, const Parameters& parameters) const {
  check(parameters);
  return std::make_unique<CaseInstance>(*abi_, device, parameters);
}

bool RegisteredVariant::runs_on(Backend backend) const {
  return std::ranges::find(description.backends, to_string(backend)) != description.backends.end();
}

}  // namespace peakmark
