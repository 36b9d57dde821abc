#include "measure/estimate/estimator.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/bisection.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr Size kMaxSize = std::numeric_limits<Size>::max();

class Form : public FormulaEstimator {
 public:
  Form(EstimatorTraits traits, std::string_view form) : traits_(std::move(traits)), form_(form) {}

  [[nodiscard]] std::string_view name() const override { return traits_.name; }
  [[nodiscard]] std::string_view form() const override { return form_; }

 protected:
  void check(const EstimateRequest& request) const {
    if (request.slice_dimension != traits_.slice_dimension) {
      throw UsageError(fmt::format("estimator {}: unsupported slice dimension {}; supported: {}",
                                   traits_.name, request.slice_dimension, traits_.slice_dimension));
    }
    for (const Size extent : request.other_dimensions) {
      if (extent < 0)
        throw UsageError(fmt::format("estimator {}: negative dimension {}", traits_.name, extent));
    }
  }
  static void check_slices(Size slices) {
    if (slices < 0) throw UsageError(fmt::format("negative number of slices: {}", slices));
  }
  [[nodiscard]] Size not_negative(Size bytes, std::string_view of) const {
    if (bytes < 0) {
      throw UsageError(fmt::format("estimator {}: negative size of {}: {} bytes", traits_.name, of, bytes));
    }
    return bytes;
  }
  void check_per_slice(Size per_slice) const {
    if (not_negative(per_slice, "a slice") == 0) {
      throw UsageError(
          fmt::format("estimator {}: 0 bytes per slice, so any number of slices would fit", traits_.name));
    }
  }
  [[nodiscard]] DType output_dtype(DType input) const {
    return traits_.output_dtype ? traits_.output_dtype(input) : input;
  }

 private:
  EstimatorTraits traits_;
  std::string_view form_;
};

/// Forms whose bytes are linear in the slices: direct and module.
class LinearForm : public Form {
 public:
  using Form::Form;

  [[nodiscard]] SlicesAnswer max_slices(const EstimateRequest& request) const override {
    const EstimateTerm sum = total(request);
    const DType dtype = output_dtype(request.dtype);
    if (request.available_bytes < sum.fixed_bytes) return {0, dtype};
    return {(request.available_bytes - sum.fixed_bytes) / sum.per_slice_bytes, dtype};
  }
  [[nodiscard]] Size bytes(const EstimateRequest& request, Size slices) const override {
    check_slices(slices);
    const EstimateTerm sum = total(request);
    return checked_add(checked_multiply(sum.per_slice_bytes, slices), sum.fixed_bytes);
  }

 private:
  [[nodiscard]] EstimateTerm total(const EstimateRequest& request) const {
    check(request);
    EstimateTerm sum;
    for (const EstimateTerm& term : terms(request)) {
      sum.per_slice_bytes = checked_add(sum.per_slice_bytes, not_negative(term.per_slice_bytes, term.name));
      sum.fixed_bytes = checked_add(sum.fixed_bytes, not_negative(term.fixed_bytes, term.name));
    }
    check_per_slice(sum.per_slice_bytes);
    return sum;
  }
};

class DirectForm final : public LinearForm {
 public:
  DirectForm(EstimatorTraits traits, double multiplier)
      : LinearForm(std::move(traits), "direct"), multiplier_(multiplier) {}

  [[nodiscard]] std::vector<EstimateTerm> terms(const EstimateRequest& request) const override {
    const Size slice = checked_multiply(
        checked_multiply(request.other_dimensions[0], request.other_dimensions[1]), size_of(request.dtype));
    const double bytes = multiplier_ * static_cast<double>(slice);
    // 2^63 is the smallest double that does not fit. For NaN the comparison is false.
    if (!(std::abs(bytes) < 9223372036854775808.0)) {
      throw OverflowError(
          fmt::format("estimator {}: {} times {} bytes does not fit 64 bits", name(), multiplier_, slice));
    }
    return {{"slice", static_cast<Size>(bytes), 0}};
  }

 private:
  double multiplier_;
};

class ModuleForm final : public LinearForm {
 public:
  ModuleForm(EstimatorTraits traits, TermsFormula formula)
      : LinearForm(std::move(traits), "module"), formula_(std::move(formula)) {}

  [[nodiscard]] std::vector<EstimateTerm> terms(const EstimateRequest& request) const override {
    return formula_(request);
  }

 private:
  TermsFormula formula_;
};

class IterativeForm final : public Form {
 public:
  IterativeForm(EstimatorTraits traits, BytesFormula bytes, TermsFormula terms)
      : Form(std::move(traits), "iterative"), bytes_(std::move(bytes)), terms_(std::move(terms)) {}

  [[nodiscard]] SlicesAnswer max_slices(const EstimateRequest& request) const override {
    check(request);
    check_per_slice(checked_subtract(bytes(request, 1), bytes(request, 0)));
    const auto fits = [&](Size slices) {
      try {
        return bytes(request, slices) <= request.available_bytes;
      } catch (const OverflowError&) {
        return false;  // more than 2^63 bytes never fit
      }
    };
    return {largest(fits), output_dtype(request.dtype)};
  }
  [[nodiscard]] Size bytes(const EstimateRequest& request, Size slices) const override {
    check(request);
    check_slices(slices);
    return not_negative(bytes_(request, slices), quantity(slices, "slice"));
  }
  [[nodiscard]] std::vector<EstimateTerm> terms(const EstimateRequest& request) const override {
    return terms_ ? terms_(request) : std::vector<EstimateTerm>{};
  }

 private:
  BytesFormula bytes_;
  TermsFormula terms_;
};

class DocumentedForm final : public Form {
 public:
  DocumentedForm(EstimatorTraits traits, SlicesFormula slices)
      : Form(std::move(traits), "documented"), slices_(std::move(slices)) {}

  [[nodiscard]] SlicesAnswer max_slices(const EstimateRequest& request) const override {
    check(request);
    const SlicesAnswer answer = slices_(request);
    if (answer.slices < 0) {
      throw UsageError(fmt::format("estimator {}: negative answer: {} slices", name(), answer.slices));
    }
    return answer;
  }
  [[nodiscard]] Size bytes(const EstimateRequest& request, Size slices) const override {
    check_slices(slices);
    EstimateRequest question = request;
    const auto too_few = [&](Size available) {
      question.available_bytes = available;
      return max_slices(question).slices < slices;
    };
    if (!too_few(0)) return 0;
    if (too_few(kMaxSize)) {
      throw UsageError(fmt::format("estimator {}: fewer than {} slices for any memory", name(), slices));
    }
    return largest(too_few) + 1;
  }

 private:
  SlicesFormula slices_;
};

}  // namespace

std::shared_ptr<const FormulaEstimator> make_direct_estimator(EstimatorTraits traits, double multiplier) {
  return std::make_shared<DirectForm>(std::move(traits), multiplier);
}

std::shared_ptr<const FormulaEstimator> make_module_estimator(EstimatorTraits traits, TermsFormula terms) {
  return std::make_shared<ModuleForm>(std::move(traits), std::move(terms));
}

std::shared_ptr<const FormulaEstimator> make_iterative_estimator(EstimatorTraits traits, BytesFormula bytes,
                                                                 TermsFormula terms) {
  return std::make_shared<IterativeForm>(std::move(traits), std::move(bytes), std::move(terms));
}

std::shared_ptr<const FormulaEstimator> make_documented_estimator(std::string name, int slice_dimension,
                                                                  SlicesFormula slices) {
  return std::make_shared<DocumentedForm>(EstimatorTraits{std::move(name), slice_dimension, {}},
                                          std::move(slices));
}

}  // namespace peakmark
