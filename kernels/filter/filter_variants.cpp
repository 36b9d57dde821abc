#include <functional>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "estimate/estimator.hpp"
#include "kernels/common/axes.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/verify_rows.hpp"
#include "kernels/filter/filter.hpp"
#include "kernels/filter/line_filter.hpp"
#include "kernels/filter/reference.hpp"
#include "kernels/filter/whole_filter.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeed = 31;
constexpr int kSinogram = 1;

/// Bytes of one sinogram: what filtering in place needs at the least.
Size floor_of(const FilterProblem& problem) {
  return Shape{problem.n_a, problem.w}.bytes(DType::f32);
}

class FilterComputation : public Computation {
 public:
  FilterComputation(Device& device, const FilterProblem& problem) : device_(device), problem_(problem) {}

  void create_inputs() override {
    sinograms_ = create_seeded(device_, "sinograms", problem_.shape(), DType::f32, kSeed);
  }

  Verification verify() override {
    const FilterReference reference(problem_);
    std::vector<float> input(static_cast<std::size_t>(problem_.w));
    RowComparison comparison(problem_.shape());
    for_each_verified_row<float>(device_, result(), {}, [&](Size row, std::span<const float> actual) {
      fill_seeded(std::span(input), kSeed, row * problem_.w);
      const std::vector<double> exact = reference.line(input);
      const std::vector<float> expected(exact.begin(), exact.end());
      comparison.add<float>(row, expected, actual, reference.tolerance());
    });
    return {comparison.error().empty(), comparison.error()};
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return checked_multiply(2, problem_.shape().bytes(DType::f32));
  }

  [[nodiscard]] DType output_dtype() const override { return DType::f32; }

 protected:
  virtual const Array& result() = 0;

  Device& device_;
  const FilterProblem problem_;
  Array sinograms_;
};

class WholeComputation final : public FilterComputation {
 public:
  WholeComputation(Device& device, const FilterProblem& problem)
      : FilterComputation(device, problem), filter_(device, problem) {}

  void set_up() override { filter_.set_up(); }
  void create_outputs() override { filtered_ = device_.create("filtered", problem_.shape(), DType::f32); }
  void call() override { filter_(sinograms_, filtered_); }

 private:
  const Array& result() override { return filtered_; }

  WholeFilter filter_;
  Array filtered_;
};

class InPlaceComputation final : public FilterComputation {
 public:
  InPlaceComputation(Device& device, const FilterProblem& problem, const LineBatch& batch)
      : FilterComputation(device, problem), filter_(device, problem, batch) {}

  void set_up() override { filter_.set_up(); }
  void call() override { filter_(sinograms_, sinograms_, 0, problem_.lines()); }
  void restore_inputs() override { write_seeded(device_, sinograms_, kSeed); }

 private:
  const Array& result() override { return sinograms_; }

  LineFilter filter_;
};

FilterProblem problem_of(const EstimateRequest& request) {
  Parameters parameters = request.parameters;
  parameters.set("n_z", Size{1});
  parameters.set("n_a", request.other_dimensions[0]);
  parameters.set("w", request.other_dimensions[1]);
  return filter_problem(parameters);
}

/// The formula, exact: sinograms, what they are filtered into, and all that is in between.
std::vector<Term> whole_terms(const EstimateRequest& request) {
  const FilterProblem problem = problem_of(request);
  std::vector<Term> terms{{"sinograms", floor_of(problem), 0}, {"filtered", floor_of(problem), 0}};
  for (Term& term : whole_filter_terms(problem)) terms.push_back(std::move(term));
  return terms;
}

/// The formula, exact: sinograms, and what is beside them, which does not grow with their number.
std::vector<Term> inplace_terms(const EstimateRequest& request) {
  const FilterProblem problem = problem_of(request);
  std::vector<Term> terms{{"sinograms", floor_of(problem), 0}};
  for (Term& term : batch_of_case(problem, request.parameters, floor_of(problem)).terms)
    terms.push_back(std::move(term));
  return terms;
}

Variant make_variant(std::string name, std::string help, TermsFormula terms) {
  Variant variant;
  variant.description.name = name;
  variant.description.help = std::move(help);
  variant.description.axes = {
      size_axis("n_a", 400, "lines of a sinogram, one an angle"),
      size_axis("w", 512, "pixels of a line", 2),
      size_axis("n_z", 20, "sinograms"),
      word_axis("filter", "ramlak", filter_names(), "the filter"),
      word_axis("mode", "constant", filter_padding_names(),
                "what stands beside a line, as in numpy.pad; constant: zeros"),
      word_axis("fft", "vkfft", fft_names(), "the library that transforms; cufft: CUDA only"),
  };
  variant.description.slice_axis = "n_z";
  variant.description.slice_dimension = kSinogram;
  variant.estimators = {make_module_estimator({std::move(name), kSinogram, {}}, std::move(terms))};
  variant.request = [](const Parameters& parameters) {
    return EstimateRequest{.slice_dimension = kSinogram,
                           .other_dimensions = {parameters.integer("n_a"), parameters.integer("w")},
                           .dtype = DType::f32,
                           .available_bytes = 0,
                           .parameters = parameters};
  };
  return variant;
}

Variant whole() {
  Variant variant =
      make_variant("filter/whole", "old: every line padded, and its spectrum beside it", whole_terms);
  variant.make = [](Device& device, const Parameters& parameters) -> std::unique_ptr<Computation> {
    return std::make_unique<WholeComputation>(device, filter_problem(parameters));
  };
  return variant;
}

Variant inplace() {
  Variant variant = make_variant("filter/inplace",
                                 "new: lines in batches through one work buffer, written back over the input",
                                 inplace_terms);
  variant.description.axes.push_back(
      size_axis("batch", 0, "lines at a time; 0: as many as the allowance has room for", 0));
  variant.description.axes.push_back(
      size_axis("allowance", 5, "percent of a sinogram's bytes for all that is beside it"));
  variant.description.destroys_input = true;
  variant.make = [](Device& device, const Parameters& parameters) -> std::unique_ptr<Computation> {
    const FilterProblem problem = filter_problem(parameters);
    return std::make_unique<InPlaceComputation>(device, problem,
                                                batch_of_case(problem, parameters, floor_of(problem)));
  };
  return variant;
}

}  // namespace

void add_filter(Registry& registry) {
  registry.add(whole());
  registry.add(inplace());
}

}  // namespace peakmark
