#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "device/device.hpp"
#include "estimate/estimator.hpp"
#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// linear (old): a work-item a pixel, sine and cosine looked up; f32 and f64.
/// tiled (new): a tile of pixels a work-item or work-group, positions in fixed point; f32.
/// texture: the texture unit interpolates, straight from the sinograms' memory; f32, CUDA only (`dry`
/// allocation_log it), fractions of 8 bits, shapes that LineTexture::check lets through.
enum class BackprojectionWay : std::uint8_t { linear, tiled, texture };
std::string_view to_string(BackprojectionWay way);

/// Back-projects sinograms that lie on the device, under one geometry. It keeps tables of the angles on the
/// device (table_terms) and allocates nothing more in a call.
class Backprojector {
 public:
  virtual ~Backprojector() = default;
  Backprojector(const Backprojector&) = delete;
  Backprojector& operator=(const Backprojector&) = delete;

  /// sinograms (n_z, n_a, w), or (n_a, w) for one → slices (n_z, h, w) of the geometry's region, or (h, w).
  /// Every pixel of the slices is written. Enqueues only. UsageError for other shapes or dtypes; Unsupported
  /// for what a texture cannot be bound to.
  void operator()(const Array& sinograms, Array& slices);
  /// Sinograms [from, from + count) of a stack to slices [to, to + count) of another.
  void operator()(const Array& sinograms, Size from, Array& slices, Size to, Size count);

  [[nodiscard]] const BackprojectionGeometry& geometry() const { return geometry_; }
  [[nodiscard]] const SliceFrame& frame() const { return frame_; }
  [[nodiscard]] DType dtype() const { return dtype_; }

 protected:
  Backprojector(Device& device, BackprojectionGeometry geometry, DType dtype);

  /// A part of two stacks, checked: offsets in elements.
  struct Stretch {
    const Array& sinograms;
    Size sinograms_offset;
    Array& slices;
    Size slices_offset;
    Size count;
  };
  virtual void enqueue(const Stretch& stretch) = 0;

  Device& device_;

 private:
  BackprojectionGeometry geometry_;
  SliceFrame frame_;
  DType dtype_;
};

/// UsageError for a dtype that the way does not have; Unsupported where the device cannot take this way or
/// does not compute in the dtype.
void check_way(BackprojectionWay way, const DeviceInfo& device, DType dtype);

/// Checks geometry and dtype before it allocates the tables.
std::unique_ptr<Backprojector> make_backprojector(BackprojectionWay way, Device& device,
                                                  const BackprojectionGeometry& geometry, DType dtype);

/// The device memory that a Backprojector keeps, each term named as its allocation: fixed, whatever the
/// stack.
///   linear, texture: `cosines`, `sines`, `corrections` (where there are any): n_a elements each
///   tiled: `angle_table`: 32 bytes an angle
std::vector<Term> table_terms(BackprojectionWay way, Size n_a, bool corrected, DType dtype);

}  // namespace peakmark
