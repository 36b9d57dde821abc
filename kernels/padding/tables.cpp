#include "kernels/padding/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "kernels/common/device_inputs.hpp"
#include "kernels/common/element_types.hpp"
#include "kernels/padding/reference.hpp"
#include "padding_tables_source.hpp"

namespace peakmark {
namespace {

using Coordinates = std::vector<std::int32_t>;

Coordinates narrowed(const std::vector<Size>& wide) {
  return {wide.begin(), wide.end()};
}

/// Made when the first piece is requested, which never happens on `dry`.
template <typename Make>
auto on_demand(Make make) {
  return [make, made = std::make_shared<Coordinates>()]() -> const Coordinates& {
    if (made->empty()) *made = narrowed(make());
    return *made;
  };
}

template <typename Values>
Generator<std::int32_t> vector_generator(Values values) {
  return [values](std::span<std::int32_t> piece, Size first) {
    std::copy_n(values().begin() + first, piece.size(), piece.begin());
  };
}

/// Calls `fill(part, row, column)` for each part of a row in a piece of an image.
template <typename Fill>
void for_each_row_part(std::span<std::int32_t> piece, Size first, Size width, Fill&& fill) {
  while (!piece.empty()) {
    const Size column = first % width;
    const auto count = std::min(piece.size(), static_cast<std::size_t>(width - column));
    fill(piece.first(count), first / width, column);
    piece = piece.subspan(count);
    first += static_cast<Size>(count);
  }
}

/// The coordinates along x or y.
DeviceArray create_coordinate_image(Device& device, const PaddingProblem& problem, bool along_x) {
  DeviceArray image = create_uninitialised(device, along_x ? "column_coordinates" : "row_coordinates",
                                           problem.image_shape(), DType::i32);
  const Size count = image.elements();
  const ItemsOfRuns items = items_of_runs(device, count);
  const PaddedAxis& axis = along_x ? problem.x : problem.y;
  device.launch(find_kernel(device, padding_tables_source(), "coordinate_image", DType::u32), items.range,
                {image, count, problem.x.padded(), axis.before, axis.extent,
                 static_cast<std::int32_t>(problem.mode), std::int32_t{along_x ? 1 : 0}, items.run});
  return image;
}

CoordinateVectors push_coordinate_images(Device& device, const PaddingProblem& problem) {
  const auto rows = on_demand([&problem] { return source_rows(problem); });
  const auto columns = on_demand([&problem] { return source_columns(problem); });
  const Size width = problem.x.padded();
  CoordinateVectors images;
  images.rows = create_with<std::int32_t>(
      device, "row_coordinates", problem.image_shape(),
      Generator<std::int32_t>([rows, width](std::span<std::int32_t> piece, Size first) {
        for_each_row_part(piece, first, width, [&](std::span<std::int32_t> part, Size row, Size) {
          std::ranges::fill(part, rows()[static_cast<std::size_t>(row)]);
        });
      }));
  images.columns = create_with<std::int32_t>(
      device, "column_coordinates", problem.image_shape(),
      Generator<std::int32_t>([columns, width](std::span<std::int32_t> piece, Size first) {
        for_each_row_part(piece, first, width, [&](std::span<std::int32_t> part, Size, Size column) {
          std::copy_n(columns().begin() + column, part.size(), part.begin());
        });
      }));
  return images;
}

}  // namespace

void require_int32_coordinates(const PaddingProblem& problem) {
  constexpr Size kMost = std::numeric_limits<std::int32_t>::max();
  if (problem.y.extent > kMost || problem.x.extent > kMost)
    throw Unsupported(
        fmt::format("padding: int32 coordinates cannot count an image of {} by {}; use "
                    "padding/computed, which keeps none",
                    problem.y.extent, problem.x.extent));
}

CoordinateVectors push_coordinate_vectors(Device& device, const PaddingProblem& problem) {
  require_int32_coordinates(problem);
  const auto rows = on_demand([&problem] { return source_rows(problem); });
  const auto columns = on_demand([&problem] { return source_columns(problem); });
  CoordinateVectors vectors;
  vectors.rows =
      create_with<std::int32_t>(device, "row_coordinates", {problem.y.padded()}, vector_generator(rows));
  vectors.columns = create_with<std::int32_t>(device, "column_coordinates", {problem.x.padded()},
                                              vector_generator(columns));
  return vectors;
}

CoordinateVectors create_coordinate_images(Device& device, const PaddingProblem& problem) {
  require_int32_coordinates(problem);
  if (problem.mode == PaddingMode::custom) return push_coordinate_images(device, problem);
  CoordinateVectors images;
  images.rows = create_coordinate_image(device, problem, false);
  images.columns = create_coordinate_image(device, problem, true);
  return images;
}

DeviceArray create_padded_template(Device& device, const PaddingProblem& problem) {
  DeviceArray image = create_uninitialised(device, "template", problem.image_shape(), problem.dtype);
  const Size count = image.elements();
  const ItemsOfRuns items = items_of_runs(device, count);
  const PaddedAxis& y = problem.y;
  const PaddedAxis& x = problem.x;
  const auto bits = [&](double value) { return element_bits(value, problem.dtype); };
  device.launch(find_kernel(device, padding_tables_source(), "side_values", bits_of(problem.dtype)),
                items.range,
                {image, count, x.padded(), y.before, y.before + y.extent, x.before, x.before + x.extent,
                 bits(problem.values.y0), bits(problem.values.y1), bits(problem.values.x0),
                 bits(problem.values.x1), items.run});
  return image;
}

}  // namespace peakmark
