#pragma once

#include <memory>

#include "kernels/padding/problem.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {

/// The elements of a work-item: some rows, for CPUs, or some neighbours in a few rows, for GPUs. `rows` uses
/// non-temporal stores if the output is larger than the caches, `streamed_rows` always.
enum class KernelGrain : std::uint8_t { rows, streamed_rows, elements };
/// Returns the grain for this kind of device.
KernelGrain grain_for(const Device& device);

/// Base of the variants of padding: input, output, the grain of the kernels, and the comparison with the
/// reference. A variant adds the memory that it keeps and its call.
class PaddingComputation : public Computation {
 public:
  PaddingComputation(Device& device, PaddingProblem problem, KernelGrain kernel_grain);

  void create_inputs() override;
  void create_outputs() override;
  /// Compares bit by bit. Outputs below 64 MiB are compared completely. In larger ones, the rows at the
  /// borders of the first, the middle and the last slice and 256 random rows are compared. Throws Unsupported
  /// on `dry`.
  std::string verify() override;
  [[nodiscard]] std::optional<Size> bytes_moved() const override;

  /// Enqueues the padding of a stack of the problem's shapes; call set_up before, and for `custom` also
  /// create the inputs.
  virtual void pad(const DeviceArray& input, DeviceArray& output) = 0;
  void call() override { pad(input_, output_); }

  /// Returns the padded stack.
  [[nodiscard]] DeviceArray& output() { return output_; }

 protected:
  /// Returns the kernel `name` in the grain of this device.
  Kernel kernel(std::string_view name) const;

  /// How work-items share images of (rows, columns) elements: the launch, and arguments of every kernel.
  struct Grain {
    Range range;
    /// An item that owns a vector processes every y_step-th row of every z_step-th image; an item that owns
    /// rows processes y_step neighbouring rows.
    Size y_step = 1, z_step = 1;
    std::int32_t past_cache = 0;  ///< 1 if an item owns rows and its stores bypass the caches
  };
  /// `first` is the first element that is written.
  [[nodiscard]] Grain grain(Size n, Size rows, Size columns, Size first = 0) const;
  /// For the whole output from coordinate images: an item that owns elements reads their coordinates once for
  /// all slices.
  [[nodiscard]] Grain gather_images_grain() const;
  [[nodiscard]] bool by_rows() const { return kernel_grain_ != KernelGrain::elements; }

  Device& device_;
  const PaddingProblem problem_;
  DeviceArray input_, output_;

 private:
  KernelGrain kernel_grain_;
};

/// The first variant: has a source row and a source column for each padded element, and a padded template for
/// `constant`.
std::unique_ptr<PaddingComputation> make_coords2d(Device& device, PaddingProblem problem, KernelGrain grain);
/// The second variant: has a source row for each padded row and a source column for each padded column. It
/// has the same template, but reads only its border.
std::unique_ptr<PaddingComputation> make_coords1d(Device& device, PaddingProblem problem, KernelGrain grain);
/// The third variant: has only input and output on the device; the vectors of `custom` are inputs.
std::unique_ptr<PaddingComputation> make_computed(Device& device, PaddingProblem problem, KernelGrain grain);

}  // namespace peakmark
