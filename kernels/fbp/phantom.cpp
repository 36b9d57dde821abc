#include "kernels/fbp/phantom.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <numbers>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

/// An ellipse as in the published table: y upwards, tilt in degrees.
constexpr std::array<Ellipse, 10> kHead{{
    {1, 0.69, 0.92, 0, 0, 0},
    {-0.8, 0.6624, 0.874, 0, -0.0184, 0},
    {-0.2, 0.11, 0.31, 0.22, 0, -18},
    {-0.2, 0.16, 0.41, -0.22, 0, 18},
    {0.1, 0.21, 0.25, 0, 0.35, 0},
    {0.1, 0.046, 0.046, 0, 0.1, 0},
    {0.1, 0.046, 0.046, 0, -0.1, 0},
    {0.1, 0.046, 0.023, -0.08, -0.605, 0},
    {0.1, 0.023, 0.023, 0, -0.606, 0},
    {0.1, 0.023, 0.046, 0.06, -0.605, 0},
}};

}  // namespace

Phantom shepp_logan(double radius) {
  Phantom phantom;
  for (const Ellipse& e : kHead)
    phantom.push_back(
        {e.density, e.semi_x * radius, e.semi_y * radius, e.x * radius, -e.y * radius, -e.tilt * kDegree});
  return phantom;
}

double density_at(const Phantom& phantom, double x, double y) {
  double density = 0;
  for (const Ellipse& e : phantom) {
    const double dx = x - e.x;
    const double dy = y - e.y;
    const double along = (dx * std::cos(e.tilt) + dy * std::sin(e.tilt)) / e.semi_x;
    const double across = (dy * std::cos(e.tilt) - dx * std::sin(e.tilt)) / e.semi_y;
    if (along * along + across * across <= 1) density += e.density;
  }
  return density;
}

double projection_of(const Phantom& phantom, double angle, double u) {
  double integral = 0;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  for (const Ellipse& e : phantom) {
    // Half of the width of the ellipse's projection, and the distance of the line from the centre of the
    // projection.
    const double along_x = e.semi_x * (cosine * std::cos(e.tilt) - sine * std::sin(e.tilt));
    const double along_y = e.semi_y * (cosine * std::sin(e.tilt) + sine * std::cos(e.tilt));
    const double half = std::sqrt(along_x * along_x + along_y * along_y);  // std::hypot needs glibc 2.35
    const double from_middle = u - (e.x * cosine - e.y * sine);
    const double square = half * half - from_middle * from_middle;
    if (square > 0) integral += e.density * 2 * e.semi_x * e.semi_y * std::sqrt(square) / (half * half);
  }
  return integral;
}

std::vector<float> phantom_sinogram(const Phantom& phantom, const BackprojectionGeometry& geometry) {
  const std::vector<LineView> views = line_views(geometry);
  std::vector<float> sinogram;
  sinogram.reserve(static_cast<std::size_t>(geometry.sinogram_shape().elements()));
  for (std::size_t a = 0; a < views.size(); ++a)
    for (Size column = 0; column < geometry.w; ++column)
      sinogram.push_back(static_cast<float>(
          projection_of(phantom, geometry.angles[a], static_cast<double>(column) - views[a].axis)));
  return sinogram;
}

std::vector<float> phantom_slice(const Phantom& phantom, const BackprojectionGeometry& geometry) {
  const SliceFrame frame = slice_frame(geometry);
  std::vector<float> slice;
  slice.reserve(static_cast<std::size_t>(frame.slice_shape().elements()));
  for (Size y = frame.region.y0; y < frame.region.y0 + frame.region.h; ++y)
    for (Size x = frame.region.x0; x < frame.region.x0 + frame.region.w; ++x)
      slice.push_back(static_cast<float>(
          density_at(phantom, static_cast<double>(x) - frame.axis, static_cast<double>(y) - frame.axis)));
  return slice;
}

void write_npy(const std::filesystem::path& file, Size rows, Size columns, std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little);
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  // Magic, version and length are 10 bytes; with the header, which ends with a newline, a multiple of 64.
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  const char start[] = {'\x93',
                        'N',
                        'U',
                        'M',
                        'P',
                        'Y',
                        1,
                        0,
                        static_cast<char>(header.size() % 256),
                        static_cast<char>(header.size() / 256)};
  std::ofstream out(file, std::ios::binary);
  out.write(start, sizeof start);
  out << header;
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  out.close();
  if (!out)
    throw IoError(fmt::format("{}: cannot be written; check its folder and the free space", file.string()));
}

}  // namespace peakmark
