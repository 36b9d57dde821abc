#include <memory>

#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/common/variants.hpp"
#include "kernels/fbp/joined_scan.hpp"
#include "kernels/fbp/reconstructor.hpp"
#include "kernels/fbp/verification.hpp"
#include "kernels/operations.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {
namespace {

FbpShape shape_of(const Case& asked) {
  return {asked["n_z"], asked["n_a"], asked["w"]};
}

FbpOptions options_of(FbpMethod method, const Case& asked) {
  FbpOptions options;
  options.method = method;
  options.filter = parse_filter_name(asked.word("filter"));
  options.mode = parse_padding_mode(asked.word("mode"));
  options.fft = parse_fft_library(asked.word("fft"));
  options.chunk = asked["chunk"];
  if (method != FbpMethod::whole) {
    options.batch = asked["batch"];
    options.allowance = asked["allowance"];
  }
  const BackprojectionGeometry frame = frame_geometry_of_case(asked);
  options.axis = frame.axis;
  options.half = frame.half;
  options.clip = frame.clip;
  options.region = frame.region;
  options.corrected = asked.word("correction") != "none";
  return options;
}

FbpAngles angles_of(const Case& asked) {
  const Size n_a = asked["n_a"];
  return {angles_of_pattern(asked.word("angles"), n_a),
          corrections_of_pattern(asked.word("correction"), n_a, asked["w"])};
}

/// Throws UsageError for a case that is not valid: angles and corrections are checked too.
void check_case(FbpMethod method, const Case& asked) {
  const FbpShape shape = shape_of(asked);
  const FbpOptions options = options_of(method, asked);
  check(shape, options);
  const BackprojectionGeometry geometry = scan_geometry(shape, options, angles_of(asked));
  if (options.half) static_cast<void>(JoinedScan(geometry));
  if (method != FbpMethod::whole) static_cast<void>(line_batch(shape, options));
}

class FbpComputation final : public Computation {
 public:
  FbpComputation(Device& device, const FbpShape& shape, const FbpOptions& options, FbpAngles angles)
      : device_(device),
        shape_(shape),
        options_(options),
        noise_(shape.w),
        reconstructor_(device, shape, options, std::move(angles)) {}

  void set_up() override { reconstructor_.set_up(); }
  void create_inputs() override {
    sinograms_ = create_uninitialised(device_, "sinograms", reconstructor_.sinograms_shape(), DType::f32);
    noise_.write(device_, sinograms_);
  }
  void create_outputs() override {
    slices_ = create_uninitialised(device_, "slices", reconstructor_.slices_shape(), DType::f32);
  }
  void call() override { reconstructor_(sinograms_, slices_); }
  void restore_inputs() override {
    if (destroys_input(options_.method)) noise_.write(device_, sinograms_);
  }
  std::string verify() override {
    return verify_fbp(slices_, filter_problem(shape_, options_), reconstructor_.geometry());
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return checked_add(reconstructor_.sinograms_shape().bytes(DType::f32),
                       reconstructor_.slices_shape().bytes(DType::f32));
  }

 private:
  Device& device_;
  FbpShape shape_;
  FbpOptions options_;
  NoiseLines noise_;
  Reconstructor reconstructor_;
  DeviceArray sinograms_, slices_;
};

/// The exact formula, for the number of slices of the case.
std::vector<Part> own_parts(FbpMethod method, const Case& asked) {
  FbpShape shape = shape_of(asked);
  shape.n_z = std::max<Size>(1, shape.n_z);
  return fbp_parts(shape, options_of(method, asked));
}

Size own_bytes(FbpMethod method, const Case& asked) {
  Size bytes = 0;
  for (const Part& part : own_parts(method, asked))
    bytes = checked_add(bytes,
                        checked_add(part.fixed_bytes, checked_multiply(asked["n_z"], part.per_slice_bytes)));
  return bytes;
}

void add_variant(Worker& worker, FbpMethod method, std::string help, Size chunk) {
  constexpr int kSinogram = 1;
  const std::string name = "fbp/" + std::string(to_string(method));
  std::vector<Axis> axes{
      {"n_a", 400, "lines of a sinogram, one per angle"},
      {"w", 256, "columns of a sinogram", 2},
      {"n_z", 20, "sinograms and slices"},
      {"chunk", chunk, "max slices processed at a time; 0: all", 0},
      {"filter", "ramlak", filter_names(), "the filter"},
      {"mode", "constant", filter_padding_names(), "padding of a line, as in numpy.pad; constant: zeros"},
      {"fft", "vkfft", fft_names(), "the library that transforms; cufft: CUDA only"}};
  if (method != FbpMethod::whole) {
    axes.emplace_back("batch", 0, "lines filtered at a time; 0: as many as fit the allowance");
    axes.emplace_back(
        "allowance", 1,
        "percent of the bytes of a sinogram and a slice that all other memory may take; min 512 KiB");
  }
  for (Axis& axis : scan_axes()) axes.push_back(std::move(axis));
  worker.add(
      {.name = name,
       .backends = {"opencl", "cuda", "dry"},
       .axes = std::move(axes),
       .help = std::move(help),
       .slice_axis = "n_z",
       .slice_dimension = kSinogram,
       .destroys_input = destroys_input(method),
       .estimators = {Estimator::of_bytes(
                          with_api_errors([method](const Case& asked) { return own_bytes(method, asked); }),
                          name,
                          with_api_errors([method](const Case& asked) { return own_parts(method, asked); })),
                      Estimator::of_parts(with_api_errors([](const Case& asked) {
                                            return nabu_parts(asked["n_a"], asked["w"]);
                                          }),
                                          "fbp/nabu")},
       .mistake = [method](const Case& asked) { return usage_error([&] { check_case(method, asked); }); }},
      [method](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
        return std::make_unique<FbpComputation>(device, shape_of(asked), options_of(method, asked),
                                                angles_of(asked));
      });
}

}  // namespace

void add_fbp(Worker& worker) {
  add_variant(worker, FbpMethod::whole,
              "old: every padded line and every spectrum at once, then backprojection/linear", 0);
  add_variant(worker, FbpMethod::inplace,
              "new: lines filtered in batches over the input, which is lost, then backprojection/tiled", 0);
  add_variant(worker, FbpMethod::kept,
              "new, and keeps its input: as inplace on a copy of `chunk` sinograms at a time", 1);
}

}  // namespace peakmark
