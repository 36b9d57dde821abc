#include <memory>

#include "estimate/estimator.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/axes.hpp"
#include "kernels/fbp/estimate.hpp"
#include "kernels/fbp/fbp.hpp"
#include "kernels/fbp/joined_scan.hpp"
#include "kernels/fbp/noise_lines.hpp"
#include "kernels/fbp/reconstructor.hpp"
#include "kernels/fbp/verification.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

constexpr int kSinogram = 1;

FbpShape shape_of(const Parameters& parameters) {
  return {parameters.integer("n_z"), parameters.integer("n_a"), parameters.integer("w")};
}

FbpOptions options_of(FbpMethod method, const Parameters& parameters) {
  FbpOptions options;
  options.method = method;
  options.filter = parse_filter_name(parameters.word("filter"));
  options.mode = parse_padding_mode(parameters.word("mode"));
  options.fft = parse_fft_library(parameters.word("fft"));
  options.chunk = parameters.integer("chunk");
  if (method != FbpMethod::whole) {
    options.batch = parameters.integer("batch");
    options.allowance = parameters.integer("allowance");
  }
  const BackprojectionGeometry frame = frame_geometry_of_case(parameters);
  options.axis = frame.axis;
  options.half = frame.half;
  options.clip = frame.clip;
  options.region = frame.region;
  options.corrected = parameters.word("correction") != "none";
  return options;
}

FbpAngles angles_of(const Parameters& parameters) {
  const Size n_a = parameters.integer("n_a");
  return {angles_of_pattern(parameters.word("angles"), n_a),
          corrections_of_pattern(parameters.word("correction"), n_a, parameters.integer("w"))};
}

/// UsageError, as for the computation itself: angles and corrections too.
void check_case(FbpMethod method, const Parameters& parameters) {
  const FbpShape shape = shape_of(parameters);
  const FbpOptions options = options_of(method, parameters);
  check(shape, options);
  const BackprojectionGeometry geometry = scan_geometry(shape, options, angles_of(parameters));
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
    sinograms_ = device_.create_uninitialised("sinograms", reconstructor_.sinograms_shape(), DType::f32);
    noise_.write(device_, sinograms_);
  }
  void create_outputs() override {
    slices_ = device_.create_uninitialised("slices", reconstructor_.slices_shape(), DType::f32);
  }
  void call() override { reconstructor_(sinograms_, slices_); }
  void restore_inputs() override {
    if (destroys_input(options_.method)) noise_.write(device_, sinograms_);
  }
  Verification verify() override {
    return verify_fbp(device_, slices_, filter_problem(shape_, options_), reconstructor_.geometry());
  }
  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return checked_add(reconstructor_.sinograms_shape().bytes(DType::f32),
                       reconstructor_.slices_shape().bytes(DType::f32));
  }
  [[nodiscard]] DType output_dtype() const override { return DType::f32; }

 private:
  Device& device_;
  FbpShape shape_;
  FbpOptions options_;
  NoiseLines noise_;
  Reconstructor reconstructor_;
  Array sinograms_, slices_;
};

Parameters parameters_of(const EstimateRequest& request) {
  Parameters parameters = request.parameters;
  parameters.set("n_a", request.other_dimensions[0]);
  parameters.set("w", request.other_dimensions[1]);
  return parameters;
}

/// The formula, exact, for as many slices as the request has.
std::vector<Term> own_terms(FbpMethod method, const EstimateRequest& request) {
  const Parameters parameters = parameters_of(request);
  return fbp_terms(shape_of(parameters), options_of(method, parameters));
}

Size own_bytes(FbpMethod method, const EstimateRequest& request, Size slices) {
  const Parameters parameters = parameters_of(request);
  const FbpShape shape{std::max<Size>(1, slices), parameters.integer("n_a"), parameters.integer("w")};
  Size bytes = 0;
  for (const Term& term : fbp_terms(shape, options_of(method, parameters)))
    bytes = checked_add(bytes, checked_add(term.fixed_bytes, checked_multiply(slices, term.per_slice_bytes)));
  return bytes;
}

Variant make_variant(FbpMethod method, std::string help, Size chunk) {
  Variant variant;
  const std::string name = "fbp/" + std::string(to_string(method));
  variant.description.name = name;
  variant.description.help = std::move(help);
  variant.description.axes = {
      size_axis("n_a", 400, "lines of a sinogram, one an angle"),
      size_axis("w", 256, "columns of a sinogram", 2),
      size_axis("n_z", 20, "sinograms and slices"),
      size_axis("chunk", chunk, "slices worked on at a time, at the most; 0: all", 0),
      word_axis("filter", "ramlak", filter_names(), "the filter"),
      word_axis("mode", "constant", filter_padding_names(),
                "what stands beside a line, as in numpy.pad; constant: zeros"),
      word_axis("fft", "vkfft", fft_names(), "the library that transforms; cufft: CUDA only"),
  };
  if (method != FbpMethod::whole) {
    variant.description.axes.push_back(
        size_axis("batch", 0, "lines filtered at a time; 0: as many as the allowance has room for", 0));
    variant.description.axes.push_back(size_axis(
        "allowance", 1,
        "percent of a sinogram's and a slice's bytes for all that is beside them; 512 KiB at the least"));
  }
  for (AxisDescription& axis : scan_axes()) variant.description.axes.push_back(std::move(axis));
  variant.description.slice_axis = "n_z";
  variant.description.slice_dimension = kSinogram;
  variant.description.destroys_input = destroys_input(method);
  variant.estimators = {
      make_iterative_estimator(
          {name, kSinogram, {}},
          [method](const EstimateRequest& request, Size slices) {
            return own_bytes(method, request, slices);
          },
          [method](const EstimateRequest& request) { return own_terms(method, request); }),
      make_module_estimator({"fbp/nabu", kSinogram, {}}, [](const EstimateRequest& request) {
        return nabu_terms(request.other_dimensions[0], request.other_dimensions[1]);
      })};
  variant.request = [method](const Parameters& parameters) {
    // What cannot be run has no estimate.
    check_case(method, parameters);
    return EstimateRequest{.slice_dimension = kSinogram,
                           .other_dimensions = {parameters.integer("n_a"), parameters.integer("w")},
                           .dtype = DType::f32,
                           .available_bytes = 0,
                           .parameters = parameters};
  };
  variant.make = [method](Device& device, const Parameters& parameters) -> std::unique_ptr<Computation> {
    const FbpShape shape = shape_of(parameters);
    const FbpOptions options = options_of(method, parameters);
    // Before as many angles are made as there shall be.
    check(shape, options);
    return std::make_unique<FbpComputation>(device, shape, options, angles_of(parameters));
  };
  return variant;
}

}  // namespace

void add_fbp(Registry& registry) {
  registry.add(make_variant(
      FbpMethod::whole, "old: every padded line and every spectrum at once, then backprojection/linear", 0));
  registry.add(make_variant(FbpMethod::inplace,
                            "new: lines filtered in batches over the input, which is lost, then "
                            "backprojection/tiled",
                            0));
  registry.add(make_variant(
      FbpMethod::kept, "new, and keeps its input: as inplace on a copy of `chunk` sinograms at a time", 1));
}

}  // namespace peakmark
