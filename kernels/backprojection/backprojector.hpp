#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "kernels/backprojection/geometry.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker/variant.hpp"

namespace peakmark {

/// linear (the first): a work-item for each pixel, sines and cosines from tables; f32 and f64.
/// tiled (the second): a work-item or work-group for each tile of pixels, positions in fixed point; f32.
/// texture: the texture unit interpolates in the memory of the sinograms, with fractions of 8 bits; f32, CUDA
/// only (`dry` records its allocations), and only shapes that LineTexture::check accepts.
enum class BackprojectionMethod : std::uint8_t { linear, tiled, texture };
std::string_view to_string(BackprojectionMethod method);

/// Back-projects sinograms on the device, with one geometry. Keeps tables of the angles on the device
/// (table_parts); a call allocates nothing.
class Backprojector {
 public:
  virtual ~Backprojector() = default;
  Backprojector(const Backprojector&) = delete;
  Backprojector& operator=(const Backprojector&) = delete;

  /// Enqueues sinograms (n_z, n_a, w), or (n_a, w) for one → slices (n_z, h, w) of the geometry's region, or
  /// (h, w). Writes every pixel. Throws UsageError for other shapes or element types, Unsupported for arrays
  /// that a texture cannot be bound to.
  void operator()(const DeviceArray& sinograms, DeviceArray& slices);
  /// Sinograms [from, from + count) of a stack to slices [to, to + count) of another.
  void operator()(const DeviceArray& sinograms, Size from, DeviceArray& slices, Size to, Size count);

  [[nodiscard]] const BackprojectionGeometry& geometry() const { return geometry_; }
  [[nodiscard]] const SliceFrame& frame() const { return frame_; }
  [[nodiscard]] DType dtype() const { return dtype_; }

 protected:
  Backprojector(Device& device, BackprojectionGeometry geometry, DType dtype);

  /// A part of two stacks, checked: offsets in elements.
  struct StackPart {
    const DeviceArray& sinograms;
    Size sinograms_offset;
    DeviceArray& slices;
    Size slices_offset;
    Size count;
  };
  virtual void enqueue(const StackPart& part) = 0;

  Device& device_;

 private:
  BackprojectionGeometry geometry_;
  SliceFrame frame_;
  DType dtype_;
};

/// Throws UsageError if the implementation has no such element type.
void check_element_type(BackprojectionMethod method, DType dtype);

/// Throws UsageError if the implementation has no such element type; Unsupported if the device cannot run the
/// implementation, or cannot compute in the element type.
void check_method(BackprojectionMethod method, const Device& device, DType dtype);

/// Checks geometry and dtype before it allocates the tables.
std::unique_ptr<Backprojector> make_backprojector(BackprojectionMethod method, Device& device,
                                                  const BackprojectionGeometry& geometry, DType dtype);

/// Returns the device memory that a Backprojector keeps, which is the same for any stack. Terms have the
/// names of the allocations.
///   linear, texture: `cosines`, `sines`, `corrections` (if there are any): n_a elements each
///   tiled: `angle_table`: 32 bytes per angle
std::vector<Part> table_parts(BackprojectionMethod method, Size n_a, bool corrected, DType dtype);

/// Multiplies sinograms (n_z, n_a, w) with the weights of half-acquisition, in place, before a step that
/// mixes columns. Back-project the result with `weigh` false. This is not enough for a ramp filter, which
/// also spreads a line beyond its near edge: see kernels/fbp/joined_scan.hpp. Keeps `corrections` on the
/// device (n_a elements, only if the geometry has any). Throws UsageError for a geometry that is invalid or
/// not `weighted()`.
class OverlapWeighting {
 public:
  OverlapWeighting(Device& device, const BackprojectionGeometry& geometry, DType dtype);
  void operator()(DeviceArray& sinograms);

 private:
  Device& device_;
  BackprojectionGeometry geometry_;
  Kernel kernel_;
  DeviceArray corrections_;
};

}  // namespace peakmark
