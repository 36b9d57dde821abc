#include "kernels/vertical_shift/vertical_shift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/vertical_shift/shift_terms.hpp"
#include "vertical_shift_source.hpp"

namespace peakmark {
namespace {

void check_radios(const DeviceArray& radios, DType dtype, Size n_z, Size nx) {
  const Shape stack = shape(radios);
  if (stack.rank() != 3 || stack[1] != n_z || stack[2] != nx)
    throw UsageError(
        fmt::format("radios have shape {}; this shift was made for (n_a, {}, {})", stack.text(), n_z, nx));
  if (radios.dtype() != to_string(dtype))
    throw UsageError(
        fmt::format("radios are {}; this shift was made for {}", radios.dtype(), to_string(dtype)));
}

// Returns the columns of a work-item of a CPU. Its rows stay in the second-level cache, and few radios still
// give blocks for every core. Whole pages of f32, because cores prefetch within a page.
Size cpu_columns(const Device& device, Size n_a, Size nx) {
  constexpr Size kMaxColumns = 2048;
  constexpr Size kPage = 1024;
  const Size blocks = divide_up(2 * std::max<Size>(1, device.compute_units()), n_a);
  return std::clamp(divide_up(divide_up(nx, blocks), kPage) * kPage, kPage, kMaxColumns);
}

// Returns the columns of a work-group of a GPU: the 128 or 256 bytes of a row that a warp takes, or fewer if
// that gives each multiprocessor a group.
Size gpu_columns(const Device& device, Size n_a, Size nx) {
  Size columns = 32;
  while (columns > 8 && n_a * divide_up(nx, columns) < device.compute_units()) columns /= 2;
  return columns;
}

// Returns a launch with one work-item for each row of this length on a CPU, for each element elsewhere.
Range grain(const Device& device, Size elements, Size row, Size& width) {
  width = device.is_cpu() ? row : 1;
  return {.x = divide_up(elements, width), .local_x = device.is_cpu() ? 1 : 0};
}

/// For each radio a: fills `shifted` (1, n_z, nx) with zeros, calls `add(a, terms)`, which adds the terms of
/// the radio to it, and copies it to the radio.
template <typename Add>
void shift_each(Device& device, DeviceArray& radios, std::span<const float> shifts, DeviceArray& shifted,
                Add&& add) {
  const Size n_z = shifted.extents()[1];
  const DType element = dtype(shifted);
  check_radios(radios, element, n_z, shifted.extents()[2]);
  const Size n_a = radios.extents()[0];
  check_shifts(shifts, n_a);
  if (radios.elements() == 0) return;
  const Size image = shifted.bytes();
  for (Size a = 0; a < n_a; ++a) {
    shifted.fill(0);
    add(a, shift_terms(shifts[static_cast<std::size_t>(a)], n_z, element));
    device.copy(shifted, 0, radios, a * image, image);
  }
}

}  // namespace

ShiftWithTemporaries::ShiftWithTemporaries(Device& device, DType dtype, Size n_z, Size nx) : device_(device) {
  with_floating(dtype, [](auto) {});
  require_dtype(device, dtype);
  product_ = find_kernel(device, vertical_shift_source(), "vertical_shift_product", dtype);
  add_ = find_kernel(device, vertical_shift_source(), "vertical_shift_add", dtype);
  shifted_ = create_uninitialised(device, "shifted", {1, n_z, nx}, dtype);
}

void ShiftWithTemporaries::operator()(DeviceArray& radios, std::span<const float> shifts) {
  const DType element = dtype(shifted_);
  const Size n_z = shifted_.extents()[1];
  const Size nx = shifted_.extents()[2];
  shift_each(device_, radios, shifts, shifted_, [&](Size a, std::span<const ShiftTerm> terms) {
    for (const ShiftTerm& term : terms) {
      if (term.rows == 0) continue;
      DeviceArray product = create_uninitialised(device_, "product", {term.rows, nx}, element);
      const Size count = product.elements();
      Size width = 0;
      const Range range = grain(device_, count, nx, width);
      device_.launch(product_, range,
                     {product, radios, (a * n_z + term.from) * nx, count, width,
                      floating_argument(element, term.factor)});
      device_.launch(add_, range, {shifted_, product, term.to * nx, count, width});
      product.reset();
    }
  });
}

ShiftWithMulAdd::ShiftWithMulAdd(Device& device, DType dtype, Size n_z, Size nx)
    : device_(device), mul_add_(device, dtype) {
  radio_ = create_uninitialised(device, "radio", {1, n_z, nx}, dtype);
  shifted_ = create_uninitialised(device, "shifted", {1, n_z, nx}, dtype);
}

void ShiftWithMulAdd::operator()(DeviceArray& radios, std::span<const float> shifts) {
  const Size image = shifted_.bytes();
  const Size nx = shifted_.extents()[2];
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
  require_dtype(device, dtype);
  kernel_ = find_kernel(device, vertical_shift_source(),
                        device.is_cpu() ? "vertical_shift_blocks" : "vertical_shift_columns", dtype);
}

void FusedShift::operator()(DeviceArray& radios, const DeviceArray& shifts) {
  const Shape stack = shape(radios);
  if (stack.rank() != 3) throw UsageError("radios have shape " + stack.text() + "; (n_a, n_z, nx) is needed");
  check_radios(radios, dtype_, stack[1], stack[2]);
  if (shifts.dtype() != "f32" || shifts.elements() != stack[0])
    throw UsageError(fmt::format("shifts are {} {}; {} f32, one for each radio, are needed",
                                 shape(shifts).text(), shifts.dtype(), stack[0]));
  if (stack.elements() == 0) return;
  const auto [n_a, n_z, nx] = std::tuple(stack[0], stack[1], stack[2]);
  if (!device_.is_cpu()) {
    constexpr Size kGroup = 256;
    const Size width = gpu_columns(device_, n_a, nx);
    const Size lines = kGroup / width;
    const Size strips = divide_up(nx, width);
    device_.launch(kernel_,
                   {.x = checked_multiply(checked_multiply(n_a, strips), width),
                    .y = lines,
                    .local_x = width,
                    .local_y = lines},
                   {radios, shifts, n_z, nx, width, lines, strips});
    return;
  }
  const Size width = std::min(nx, cpu_columns(device_, n_a, nx));
  const Size blocks = divide_up(nx, width);
  device_.launch(kernel_, {.x = checked_multiply(n_a, blocks), .local_x = 1},
                 {radios, shifts, n_a, n_z, nx, width, blocks});
}

}  // namespace peakmark
