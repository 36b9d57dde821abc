#include "kernels/vertical_shift/vertical_shift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "kernels/common/floating.hpp"
#include "kernels/vertical_shift/shift_terms.hpp"
#include "vertical_shift_source.hpp"

namespace peakmark {
namespace {

void check_radios(const Array& radios, DType dtype, Size n_z, Size nx) {
  const Shape& shape = radios.shape();
  if (shape.rank() != 3 || shape[1] != n_z || shape[2] != nx)
    throw UsageError(
        fmt::format("radios have shape {}; this shift was made for (n_a, {}, {})", shape.text(), n_z, nx));
  if (radios.dtype() != dtype)
    throw UsageError(fmt::format("radios are {}; this shift was made for {}", to_string(radios.dtype()),
                                 to_string(dtype)));
}

// Columns of a work-item of a CPU: the rows it works on stay in its second-level cache, and where radios are
// few, there are blocks for every core. Whole pages of f32, for cores that fetch ahead within a page.
Size cpu_columns(const DeviceInfo& device, Size n_a, Size nx) {
  constexpr Size kMost = 2048;
  constexpr Size kPage = 1024;
  const Size blocks = divide_up(2 * std::max<Size>(1, device.compute_units), n_a);
  return std::clamp(divide_up(divide_up(nx, blocks), kPage) * kPage, kPage, kMost);
}

// Columns of a work-group of a GPU: a warp's 128 or 256 bytes of a row, fewer where that gives each
// multiprocessor a group.
Size gpu_columns(const DeviceInfo& device, Size n_a, Size nx) {
  Size columns = 32;
  while (columns > 8 && n_a * divide_up(nx, columns) < device.compute_units) columns /= 2;
  return columns;
}

// One work-item a row of this length on a CPU, one an element elsewhere.
Range grain(const Device& device, Size elements, Size row, Size& width) {
  width = device.info().is_cpu ? row : 1;
  return {.x = divide_up(elements, width), .local_x = device.info().is_cpu ? 1 : 0};
}

/// Each radio in turn: `shifted` (1, n_z, nx) is zeroed, `add(a, terms)` adds the terms of radio a to it, and
/// it takes the radio's place.
template <typename Add>
void shift_each(Device& device, Array& radios, std::span<const float> shifts, Array& shifted, Add&& add) {
  const Size n_z = shifted.shape()[1];
  check_radios(radios, shifted.dtype(), n_z, shifted.shape()[2]);
  check_shifts(shifts, radios.shape()[0]);
  if (radios.shape().elements() == 0) return;
  const Size image = shifted.bytes();
  for (Size a = 0; a < radios.shape()[0]; ++a) {
    device.fill(shifted, 0);
    add(a, shift_terms(shifts[static_cast<std::size_t>(a)], n_z, shifted.dtype()));
    device.copy(shifted, 0, radios, a * image, image);
  }
}

}  // namespace

ShiftWithTemporaries::ShiftWithTemporaries(Device& device, DType dtype, Size n_z, Size nx) : device_(device) {
  with_floating(dtype, [](auto) {});
  require_dtype(device.info(), dtype);
  product_ = device.kernel(vertical_shift_source(), "vertical_shift_product", dtype);
  add_ = device.kernel(vertical_shift_source(), "vertical_shift_add", dtype);
  shifted_ = device.create_uninitialised("shifted", {1, n_z, nx}, dtype);
}

void ShiftWithTemporaries::operator()(Array& radios, std::span<const float> shifts) {
  const DType dtype = shifted_.dtype();
  const Size n_z = shifted_.shape()[1];
  const Size nx = shifted_.shape()[2];
  shift_each(device_, radios, shifts, shifted_, [&](Size a, std::span<const ShiftTerm> terms) {
    for (const ShiftTerm& term : terms) {
      if (term.rows == 0) continue;
      Array product = device_.create_uninitialised("product", {term.rows, nx}, dtype);
      const Size count = product.shape().elements();
      Size width = 0;
      const Range range = grain(device_, count, nx, width);
      device_.launch(product_, range,
                     {&product, &radios, (a * n_z + term.from) * nx, count, width,
                      floating_argument(dtype, term.factor)});
      device_.launch(add_, range, {&shifted_, &product, term.to * nx, count, width});
      device_.release(product);
    }
  });
}

ShiftWithMulAdd::ShiftWithMulAdd(Device& device, DType dtype, Size n_z, Size nx)
    : device_(device), mul_add_(device, dtype) {
  radio_ = device.create_uninitialised("radio", {1, n_z, nx}, dtype);
  shifted_ = device.create_uninitialised("shifted", {1, n_z, nx}, dtype);
}

void ShiftWithMulAdd::operator()(Array& radios, std::span<const float> shifts) {
  const Size image = shifted_.bytes();
  const Size nx = shifted_.shape()[2];
  shift_each(device_, radios, shifts, shifted_, [&](Size a, std::span<const ShiftTerm> terms) {
    device_.copy(radios, a * image, radio_, 0, image);
    for (const ShiftTerm& term : terms) {
      if (term.rows == 0) continue;
      mul_add_(shifted_, {0, 1, term.to, 0, term.rows, nx}, 1, radio_, {0, 1, term.from, 0, term.rows, nx},
               term.factor);
    }
  });
}

FusedShift::FusedShift(Device& device, DType dtype) : device_(device), dtype_(dtype) {
  with_floating(dtype, [](auto) {});
  require_dtype(device.info(), dtype);
  kernel_ = device.kernel(vertical_shift_source(),
                          device.info().is_cpu ? "vertical_shift_blocks" : "vertical_shift_columns", dtype);
}

void FusedShift::operator()(Array& radios, const Array& shifts) {
  const Shape& shape = radios.shape();
  if (shape.rank() != 3) throw UsageError("radios have shape " + shape.text() + "; (n_a, n_z, nx) is needed");
  check_radios(radios, dtype_, shape[1], shape[2]);
  if (shifts.dtype() != DType::f32 || shifts.shape().elements() != shape[0])
    throw UsageError(fmt::format("shifts are {} {}; {} f32, one for each radio, are needed",
                                 shifts.shape().text(), to_string(shifts.dtype()), shape[0]));
  if (shape.elements() == 0) return;
  const auto [n_a, n_z, nx] = std::tuple(shape[0], shape[1], shape[2]);
  if (!device_.info().is_cpu) {
    constexpr Size kGroup = 256;
    const Size width = gpu_columns(device_.info(), n_a, nx);
    const Size lines = kGroup / width;
    const Size strips = divide_up(nx, width);
    device_.launch(kernel_,
                   {.x = checked_multiply(checked_multiply(n_a, strips), width),
                    .y = lines,
                    .local_x = width,
                    .local_y = lines},
                   {&radios, &shifts, n_z, nx, width, lines, strips});
    return;
  }
  const Size width = std::min(nx, cpu_columns(device_.info(), n_a, nx));
  const Size blocks = divide_up(nx, width);
  device_.launch(kernel_, {.x = checked_multiply(n_a, blocks), .local_x = 1},
                 {&radios, &shifts, n_a, n_z, nx, width, blocks});
}

}  // namespace peakmark
