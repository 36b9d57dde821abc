#include "measure/worker/variant.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "measure/worker/abi.hpp"

namespace peakmark {

using backend::Device;
namespace {

peakmark_value abi_value(const std::string& axis, const AxisValue& value) {
  peakmark_value abi{.axis = axis.c_str(), .type = PEAKMARK_INTEGER, .value = {}};
  if (const auto* const word = std::get_if<std::string>(&value)) {
    abi.type = PEAKMARK_WORD;
    abi.value.word = word->c_str();
  } else if (const auto* const number = std::get_if<double>(&value)) {
    abi.type = PEAKMARK_FLOAT;
    abi.value.floating = *number;
  } else {
    abi.value.integer = std::get<Size>(value);
  }
  return abi;
}

/// The values of a case as a struct of the C ABI. It points into `parameters`, which must outlive it.
class AbiCase {
 public:
  explicit AbiCase(const Parameters& parameters) {
    for (const auto& [axis, value] : parameters.values()) {
      values_.push_back(abi_value(axis, value));
    }
    abi_ = {values_.data(), values_.size()};
  }
  AbiCase(const AbiCase&) = delete;
  AbiCase& operator=(const AbiCase&) = delete;

  [[nodiscard]] const peakmark_case* abi() const { return &abi_; }

 private:
  std::vector<peakmark_value> values_;
  peakmark_case abi_{};
};

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

/// Returns the element type in the axis dtype, or f32 without this axis: that of the inputs, as httomo asks.
DType case_dtype(const Parameters& parameters) {
  const AxisValue* value = parameters.find("dtype");
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return word == nullptr ? DType::f32 : parse_dtype(*word);
}

/// Calls an estimator's function. If the estimator forks and the child process also returns from the
/// function, the child ends here: otherwise it would continue to ask, measure and answer. A search calls
/// often, and the number of processes would double each time.
template <typename Call>
auto call_estimator(Call call) {
  struct ForkGuard {
    ~ForkGuard() {
      if (::getpid() != pid) ::_exit(0);
    }
    const pid_t pid = ::getpid();
  };
  const ForkGuard guard;
  return call_program(call);
}

TermsFormula terms_formula(const peakmark_estimator& abi) {
  return [&abi](const EstimateRequest& request) {
    const AbiCase asked(request.parameters);
    std::vector<EstimateTerm> terms;
    const auto add = [](void* sink, const char* name, std::int64_t per_slice_bytes,
                        std::int64_t fixed_bytes) {
      static_cast<std::vector<EstimateTerm>*>(sink)->push_back({name, per_slice_bytes, fixed_bytes});
    };
    call_estimator(
        [&](peakmark_failure* failure) { abi.parts(abi.self, asked.abi(), add, &terms, failure); });
    return terms;
  };
}

BytesFormula bytes_formula(const peakmark_estimator& abi, const std::string& slice_axis) {
  return [&abi, slice_axis](const EstimateRequest& request, Size slices) -> Size {
    Parameters parameters = request.parameters;
    parameters.set(slice_axis, slices);
    const AbiCase asked(parameters);
    return call_estimator(
        [&](peakmark_failure* failure) { return abi.bytes(abi.self, asked.abi(), failure); });
  };
}

SlicesFormula slices_formula(const peakmark_estimator& abi, const std::function<DType(DType)>& output_dtype) {
  return [&abi, output_dtype](const EstimateRequest& request) -> SlicesAnswer {
    const AbiCase asked(request.parameters);
    const Size slices = call_estimator([&](peakmark_failure* failure) {
      return abi.slices(abi.self, asked.abi(), request.available_bytes, failure);
    });
    if (slices < 0)
      throw UsageError(
          fmt::format("it answers {} slices for {} bytes of available memory, other dimensions {}, {}; "
                      "answer max(0, slices): 0 says that not even one slice fits",
                      slices, request.available_bytes, fmt::join(request.other_dimensions, " x "),
                      to_string(request.dtype)));
    return {slices, output_dtype ? output_dtype(request.dtype) : request.dtype};
  };
}

std::shared_ptr<const FormulaEstimator> make_estimator(const peakmark_estimator& abi,
                                                       const peakmark_variant& variant) {
  EstimatorTraits traits{text(abi.name), variant.slice_dimension, {}};
  if (variant.output_dtype != nullptr) {
    traits.output_dtype = [dtype = parse_dtype(variant.output_dtype)](DType) { return dtype; };
  }
  const TermsFormula terms = abi.parts == nullptr ? TermsFormula() : terms_formula(abi);
  if (abi.bytes != nullptr)
    return make_iterative_estimator(std::move(traits), bytes_formula(abi, text(variant.slice_axis)), terms);
  if (terms) return make_module_estimator(std::move(traits), terms);
  if (abi.slices != nullptr) {
    return make_documented_estimator(traits.name, traits.slice_dimension,
                                     slices_formula(abi, traits.output_dtype));
  }
  throw UsageError(fmt::format("variant {}: its estimator '{}' has no formula", variant.name, traits.name));
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
    : output_dtype_(variant.output_dtype == nullptr ? case_dtype(parameters)
                                                    : parse_dtype(variant.output_dtype)),
      device_(abi_device(device)) {
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
    estimators.push_back(make_estimator(estimator, abi));
    description.estimators.push_back(
        {std::string(estimators.back()->name()), std::string(estimators.back()->form())});
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

EstimateRequest RegisteredVariant::request(const Parameters& parameters) const {
  check(parameters);  // a case that cannot run has no estimate
  EstimateRequest request;
  request.slice_dimension = abi_->slice_dimension;
  request.dtype = case_dtype(parameters);
  request.parameters = parameters;
  return request;
}

std::unique_ptr<CaseInstance> RegisteredVariant::make(Device& device, const Parameters& parameters) const {
  check(parameters);
  return std::make_unique<CaseInstance>(*abi_, device, parameters);
}

bool RegisteredVariant::runs_on(Backend backend) const {
  return std::ranges::find(description.backends, to_string(backend)) != description.backends.end();
}

}  // namespace peakmark
