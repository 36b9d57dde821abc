#include "api/user_variant_adapter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "api/user_case.hpp"
#include "api/user_device.hpp"
#include "api/user_failure.hpp"
#include "base/error.hpp"
#include "estimate/estimator.hpp"

namespace peakmark {
namespace {

std::string text(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

AxisDescription axis_of(const peakmark_axis& seam) {
  AxisDescription axis;
  axis.name = seam.name;
  axis.help = text(seam.help);
  if (seam.default_word != nullptr) {
    axis.default_value = std::string(seam.default_word);
    for (const char* choice : std::span(seam.choices, seam.choice_count)) axis.choices.emplace_back(choice);
  } else {
    axis.default_value = Size{seam.default_number};
    axis.least = seam.least;
  }
  return axis;
}

/// The element type of the axis dtype, where there is one: that of inputs, as httomo asks.
DType dtype_of_case(const Parameters& parameters) {
  const AxisValue* value = parameters.find("dtype");
  const auto* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return word == nullptr ? DType::f32 : parse_dtype(*word);
}

class UserComputation final : public Computation {
 public:
  UserComputation(const peakmark_variant& variant, Device& device, const Parameters& parameters)
      : output_dtype_(variant.output_dtype == nullptr ? dtype_of_case(parameters)
                                                      : parse_dtype(variant.output_dtype)),
        device_(abi_of(device)) {
    const UserCase asked(parameters);
    peakmark_failure failure{};
    variant.make(variant.self, &device_, asked.seam(), &made_, &failure);
    if (failure.kind == PEAKMARK_USAGE) {
      throw WorkerMistake(fmt::format(
          "variant {}: what makes its cases (a constructor, or the function given to Worker::add) "
          "threw: {} (what a case may not be is for the variant's `mistake` to say)",
          variant.name, failure.message));
    }
    raise_failure(failure);
  }
  ~UserComputation() override { made_.destroy(made_.self); }

  void set_up() override { step(PEAKMARK_SET_UP); }
  void create_inputs() override { step(PEAKMARK_CREATE_INPUTS); }
  void create_outputs() override { step(PEAKMARK_CREATE_OUTPUTS); }
  void call() override { step(PEAKMARK_CALL); }
  void restore_inputs() override { step(PEAKMARK_RESTORE_INPUTS); }
  Verification verify() override {
    peakmark_failure failure{};
    made_.step(made_.self, PEAKMARK_VERIFY, &failure);
    if (failure.kind == PEAKMARK_WRONG_ANSWER) return {false, failure.message};
    raise_failure(failure);
    return {true, {}};
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    const Size bytes =
        call_program([&](peakmark_failure* failure) { return made_.bytes_moved(made_.self, failure); });
    return bytes < 0 ? std::nullopt : std::optional<Size>(bytes);
  }
  [[nodiscard]] std::optional<double> flops() const override {
    if (made_.flops == nullptr) return std::nullopt;
    const double count =
        call_program([&](peakmark_failure* failure) { return made_.flops(made_.self, failure); });
    return count < 0 ? std::nullopt : std::optional<double>(count);
  }
  [[nodiscard]] DType output_dtype() const override { return output_dtype_; }

 private:
  void step(std::int32_t which) {
    call_program([&](peakmark_failure* failure) { made_.step(made_.self, which, failure); });
  }

  DType output_dtype_;
  peakmark_device device_;
  peakmark_computation made_{};
};

/// A case that is only looked at: its code is for other backends than `dry`.
class LookedAt final : public Computation {
 public:
  void create_inputs() override { no(); }
  void call() override { no(); }
  Verification verify() override { no(); }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { no(); }
  [[nodiscard]] DType output_dtype() const override { no(); }

 private:
  [[noreturn]] static void no() { throw Unsupported("the variant does not run on dry"); }
};

/// Throws UsageError with what is wrong with the case, as the program says.
void ask_for_mistake(const peakmark_variant& variant, const Parameters& parameters) {
  const UserCase asked(parameters);
  peakmark_failure failure{};
  variant.check(variant.self, asked.seam(), &failure);
  if (failure.kind == PEAKMARK_BROKEN)
    throw WorkerMistake(fmt::format("variant {}: its `mistake` threw: {}", variant.name, failure.message));
  raise_failure(failure);
}

TermsFormula terms_of(const peakmark_estimator& seam) {
  return [&seam](const EstimateRequest& request) {
    const UserCase asked(request.parameters);
    std::vector<Term> terms;
    const auto add = [](void* sink, const char* name, std::int64_t bytes_a_slice, std::int64_t fixed_bytes) {
      static_cast<std::vector<Term>*>(sink)->push_back({name, bytes_a_slice, fixed_bytes});
    };
    call_program(
        [&](peakmark_failure* failure) { seam.parts(seam.self, asked.seam(), add, &terms, failure); });
    return terms;
  };
}

BytesFormula bytes_of(const peakmark_estimator& seam, const std::string& slice_axis) {
  return [&seam, slice_axis](const EstimateRequest& request, Size slices) -> Size {
    Parameters parameters = request.parameters;
    parameters.set(slice_axis, slices);
    const UserCase asked(parameters);
    return call_program(
        [&](peakmark_failure* failure) { return seam.bytes(seam.self, asked.seam(), failure); });
  };
}

SlicesFormula slices_of(const peakmark_estimator& seam, const std::function<DType(DType)>& output_dtype) {
  return [&seam, output_dtype](const EstimateRequest& request) -> EstimateAnswer {
    const UserCase asked(request.parameters);
    const Size slices = call_program([&](peakmark_failure* failure) {
      return seam.slices(seam.self, asked.seam(), request.available_bytes, failure);
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

std::shared_ptr<const Estimator> estimator_of(const peakmark_estimator& seam,
                                              const peakmark_variant& variant) {
  EstimatorTraits traits{text(seam.name), variant.slice_dimension, {}};
  if (variant.output_dtype != nullptr) {
    traits.output_dtype = [dtype = parse_dtype(variant.output_dtype)](DType) { return dtype; };
  }
  if (seam.parts != nullptr) return make_module_estimator(std::move(traits), terms_of(seam));
  if (seam.bytes != nullptr)
    return make_iterative_estimator(std::move(traits), bytes_of(seam, text(variant.slice_axis)));
  if (seam.slices != nullptr) {
    return make_documented_estimator(traits.name, traits.slice_dimension,
                                     slices_of(seam, traits.output_dtype));
  }
  throw UsageError(fmt::format("variant {}: its estimator '{}' has no formula", variant.name, traits.name));
}

/// They are looked up when a case is made, and what is wrong then looks like a mistake of the suite. Words of
/// an axis `dtype` that nobody looks up are the program's own.
void check_dtypes(const VariantDescription& variant, const peakmark_variant& seam) {
  const std::string output_dtype = text(seam.output_dtype);
  const auto check = [&](const std::string& whose, const std::string& name) {
    try {
      parse_dtype(name);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("variant {}: {}: {}", variant.name, whose, error.what()));
    }
  };
  if (!output_dtype.empty()) check("its output_dtype", output_dtype);
  if (!output_dtype.empty() && seam.estimator_count == 0) return;
  const AxisDescription* const axis = variant.axis("dtype");
  const auto* word = axis == nullptr ? nullptr : std::get_if<std::string>(&axis->default_value);
  if (word == nullptr) return;
  check("its axis dtype", *word);
  for (const std::string& choice : axis->choices) check("its axis dtype", choice);
}

/// Verdicts and suites call an estimator of a variant by its name.
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

VariantDescription description_of(const peakmark_variant& seam) {
  VariantDescription description;
  description.name = text(seam.name);
  description.help = text(seam.help);
  for (const peakmark_axis& axis : std::span(seam.axes, seam.axis_count))
    description.axes.push_back(axis_of(axis));
  check_variant(description);
  check_dtypes(description, seam);
  for (const char* backend : std::span(seam.backends, seam.backend_count)) {
    try {
      parse_backend(backend);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("variant {}: {}", description.name, error.what()));
    }
    description.backends.emplace_back(backend);
  }
  if (description.backends.empty()) {
    throw UsageError(
        fmt::format("variant {} names no backend; say what its code is for: {{\"opencl\"}}, "
                    "{{\"cuda\"}}, and \"dry\" where it uses peakmark's arrays only",
                    description.name));
  }
  description.slice_axis = text(seam.slice_axis);
  check_estimators(description, std::span(seam.estimators, seam.estimator_count));
  if (seam.slice_dimension != 0 && seam.slice_dimension != 1) {
    throw UsageError(
        fmt::format("variant {}: its slice_dimension is {}; write 0 (projection) or 1 (sinogram)",
                    description.name, seam.slice_dimension));
  }
  description.slice_dimension = seam.slice_dimension;
  description.destroys_input = seam.destroys_input != 0;
  if (seam.make == nullptr) {
    throw UsageError(fmt::format(
        "variant {}: the function that makes its cases is empty; give Worker::add one that returns Steps",
        description.name));
  }
  return description;
}

}  // namespace

Variant variant_of(const peakmark_variant& seam) {
  Variant variant;
  variant.description = description_of(seam);
  variant.is_of_a_program = true;
  for (const peakmark_estimator& estimator : std::span(seam.estimators, seam.estimator_count)) {
    variant.estimators.push_back(estimator_of(estimator, seam));
  }
  variant.request = [&seam](const Parameters& parameters) {
    EstimateRequest request;
    request.slice_dimension = seam.slice_dimension;
    request.dtype = dtype_of_case(parameters);
    request.parameters = parameters;
    return request;
  };
  const auto& backends = variant.description.backends;
  const bool is_for_dry = std::ranges::find(backends, to_string(Backend::dry)) != backends.end();
  variant.make = [&seam, is_for_dry](Device& device,
                                     const Parameters& parameters) -> std::unique_ptr<Computation> {
    if (seam.check != nullptr) ask_for_mistake(seam, parameters);
    if (device.is_dry() && !is_for_dry) return std::make_unique<LookedAt>();
    return std::make_unique<UserComputation>(seam, device, parameters);
  };
  return variant;
}

}  // namespace peakmark
