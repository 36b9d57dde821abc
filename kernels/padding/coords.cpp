// The two variants that keep coordinates on the device: `coords2d` as images, `coords1d` as vectors.
#include "kernels/padding/computation.hpp"
#include "kernels/padding/tables.hpp"

namespace peakmark {
namespace {

class CoordinatesPadding final : public PaddingComputation {
 public:
  enum class Spread : std::uint8_t { vectors, images };

  CoordinatesPadding(Device& device, PaddingProblem problem, KernelGrain grain, Spread spread)
      : PaddingComputation(device, std::move(problem), grain), spread_(spread) {
    if (!keeps_template()) require_int32_coordinates(problem_);
  }

  void set_up() override {
    if (keeps_template()) {
      template_ = create_padded_template(device_, problem_);
      if (vectors()) {
        frame_ = kernel("frame");
        return;
      }
      embed_ = kernel("embed");
      if (by_rows()) copy_image_ = kernel("copy_image");
      return;
    }
    coordinates_ =
        vectors() ? push_coordinate_vectors(device_, problem_) : create_coordinate_images(device_, problem_);
    gather_ = kernel(vectors() ? "gather_vectors" : "gather_images");
  }

  void pad(const DeviceArray& input, DeviceArray& output) override {
    if (keeps_template() && vectors())
      frame(input, output);
    else if (keeps_template())
      for (Size slice = 0; slice < problem_.n; ++slice) pad_by_template(input, output, slice);
    else
      gather(input, output);
  }

 private:
  [[nodiscard]] bool keeps_template() const { return problem_.mode == PaddingMode::constant; }
  [[nodiscard]] bool vectors() const { return spread_ == Spread::vectors; }

  void gather(const DeviceArray& input, DeviceArray& output) {
    const Size rows = problem_.y.padded();
    const Size columns = problem_.x.padded();
    const Grain g = vectors() ? grain(problem_.n, rows, columns) : gather_images_grain();
    device_.launch(gather_, g.range,
                   {input, output, coordinates_.rows, coordinates_.columns, problem_.n, problem_.y.extent,
                    problem_.x.extent, rows, columns, g.y_step, g.z_step, g.past_cache});
  }

  void frame(const DeviceArray& input, DeviceArray& output) {
    const Size rows = problem_.y.padded();
    const Size columns = problem_.x.padded();
    const Grain g = grain(problem_.n, rows, columns);
    device_.launch(frame_, g.range,
                   {input, template_, output, problem_.n, problem_.y.extent, problem_.x.extent, rows, columns,
                    problem_.y.before, problem_.x.before, g.y_step, g.z_step, g.past_cache});
  }

  void pad_by_template(const DeviceArray& input, DeviceArray& output, Size slice) {
    const Size rows = problem_.y.padded();
    const Size columns = problem_.x.padded();
    const Grain centre =
        grain(1, problem_.y.extent, problem_.x.extent, problem_.y.before * columns + problem_.x.before);
    device_.launch(embed_, centre.range,
                   {input, template_, slice, problem_.y.extent, problem_.x.extent, columns, problem_.y.before,
                    problem_.x.before, centre.y_step, centre.z_step, centre.past_cache});
    // A copy command reaches full bandwidth on a GPU, but uses one thread on a CPU.
    if (!by_rows()) {
      device_.copy(template_, 0, output, slice * template_.bytes(), template_.bytes());
      return;
    }
    const Grain whole = grain(1, rows, columns);
    device_.launch(copy_image_, whole.range,
                   {template_, output, slice, rows, columns, whole.y_step, whole.z_step, whole.past_cache});
  }

  Spread spread_;
  CoordinateVectors coordinates_;
  DeviceArray template_;
  Kernel gather_, frame_, embed_, copy_image_;
};

}  // namespace

std::unique_ptr<PaddingComputation> make_coords2d(Device& device, PaddingProblem problem, KernelGrain grain) {
  return std::make_unique<CoordinatesPadding>(device, std::move(problem), grain,
                                              CoordinatesPadding::Spread::images);
}

std::unique_ptr<PaddingComputation> make_coords1d(Device& device, PaddingProblem problem, KernelGrain grain) {
  return std::make_unique<CoordinatesPadding>(device, std::move(problem), grain,
                                              CoordinatesPadding::Spread::vectors);
}

}  // namespace peakmark
