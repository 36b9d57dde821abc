#include <memory>
#include <optional>

#include "base/error.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/variants.hpp"
#include "kernels/common/verify_rows.hpp"
#include "kernels/filter/line_filter.hpp"
#include "kernels/filter/reference.hpp"
#include "kernels/filter/whole_filter.hpp"
#include "kernels/operations.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {
namespace {

constexpr std::uint32_t kSeed = 31;

/// Returns the bytes of one sinogram, which filtering in place needs at least.
Size floor_bytes(const FilterProblem& problem) {
  return Shape{problem.n_a, problem.w}.bytes(DType::f32);
}

class FilterComputation : public Computation {
 public:
  FilterComputation(Device& device, const FilterProblem& problem) : device_(device), problem_(problem) {}

  void create_inputs() override {
    sinograms_ = create_seeded(device_, "sinograms", problem_.shape(), DType::f32, kSeed);
  }

  std::string verify() override {
    const FilterReference reference(problem_);
    std::vector<float> input(static_cast<std::size_t>(problem_.w));
    RowComparison comparison(problem_.shape());
    for_each_verified_row<float>(result(), {}, [&](Size row, std::span<const float> actual) {
      fill_seeded(std::span(input), kSeed, row * problem_.w);
      const std::vector<double> exact = reference.line(input);
      const std::vector<float> expected(exact.begin(), exact.end());
      comparison.add<float>(row, expected, actual, reference.tolerance());
    });
    return comparison.error();
  }

  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return checked_multiply(2, problem_.shape().bytes(DType::f32));
  }

 protected:
  virtual const DeviceArray& result() = 0;

  Device& device_;
  const FilterProblem problem_;
  DeviceArray sinograms_;
};

class WholeComputation final : public FilterComputation {
 public:
  WholeComputation(Device& device, const Case& asked)
      : FilterComputation(device, filter_problem(asked)), filter_(device, problem_) {}

  void set_up() override { filter_.set_up(); }
  void create_outputs() override { filtered_ = create(device_, "filtered", problem_.shape(), DType::f32); }
  void call() override { filter_(sinograms_, filtered_); }

 private:
  const DeviceArray& result() override { return filtered_; }

  WholeFilter filter_;
  DeviceArray filtered_;
};

class InPlaceComputation final : public FilterComputation {
 public:
  InPlaceComputation(Device& device, const Case& asked)
      : FilterComputation(device, filter_problem(asked)),
        filter_(device, problem_, batch_of_case(problem_, asked, floor_bytes(problem_))) {}

  void set_up() override { filter_.set_up(); }
  void call() override { filter_(sinograms_, sinograms_, 0, problem_.lines()); }
  void restore_inputs() override { write_seeded(device_, sinograms_, kSeed); }

 private:
  const DeviceArray& result() override { return sinograms_; }

  LineFilter filter_;
};

FilterProblem problem_of_one_sinogram(const Case& asked) {
  FilterProblem problem = filter_problem(asked);
  problem.n_z = 1;
  return problem;
}

/// The exact formula: sinograms, filtered sinograms, and all intermediate memory.
std::vector<Part> whole_parts(const Case& asked) {
  const FilterProblem problem = problem_of_one_sinogram(asked);
  std::vector<Part> parts{{"sinograms", floor_bytes(problem), 0}, {"filtered", floor_bytes(problem), 0}};
  for (Part& part : whole_filter_parts(problem)) parts.push_back(std::move(part));
  return parts;
}

/// The exact formula: sinograms, and other memory, which does not grow with their number.
std::vector<Part> inplace_parts(const Case& asked) {
  const FilterProblem problem = problem_of_one_sinogram(asked);
  std::vector<Part> parts{{"sinograms", floor_bytes(problem), 0}};
  for (Part& part : batch_of_case(problem, asked, floor_bytes(problem)).parts)
    parts.push_back(std::move(part));
  return parts;
}

/// Returns the part that is common to both variants.
Variant make_variant(const std::string& name, std::string help, std::vector<Part> (*parts)(const Case&)) {
  constexpr int kSinogram = 1;
  return {.name = name,
          .backends = {"opencl", "cuda", "dry"},
          .axes = {{"n_a", 400, "lines of a sinogram, one per angle"},
                   {"w", 512, "pixels of a line", 2},
                   {"n_z", 20, "sinograms"},
                   {"filter", "ramlak", filter_names(), "the filter"},
                   {"mode", "constant", filter_padding_names(),
                    "padding of a line, as in numpy.pad; constant: zeros"},
                   {"fft", "vkfft", fft_names(), "the library that transforms; cufft: CUDA only"}},
          .help = std::move(help),
          .slice_axis = "n_z",
          .slice_dimension = kSinogram,
          .estimators = {Estimator::of_parts(with_api_errors(parts), name)},
          .mistake = [](const Case& asked) { return usage_error([&] { filter_problem(asked); }); }};
}

}  // namespace

void add_filter(Worker& worker) {
  worker.add<WholeComputation>(make_variant(
      "filter/whole", "old: every line padded, and its spectrum in a second array", whole_parts));
  Variant inplace = make_variant("filter/inplace",
                                 "new: lines in batches through one work buffer, written back over the input",
                                 inplace_parts);
  inplace.axes.emplace_back("batch", 0, "lines at a time; 0: as many as fit the allowance");
  inplace.axes.emplace_back("allowance", 5, "memory besides the sinogram, as a percentage of its bytes");
  inplace.destroys_input = true;
  inplace.mistake = [](const Case& asked) {
    return usage_error([&] {
      const FilterProblem problem = filter_problem(asked);
      static_cast<void>(batch_of_case(problem, asked, floor_bytes(problem)));
    });
  };
  worker.add<InPlaceComputation>(std::move(inplace));
}

}  // namespace peakmark
