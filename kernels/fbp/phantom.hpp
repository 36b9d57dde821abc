#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "base/size.hpp"
#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// An ellipse of one density, in columns from the rotation axis: x along a slice's rows, y down its columns.
struct Ellipse {
  double density = 1;
  double semi_x = 1, semi_y = 1;  ///< semi-axes, before the tilt
  double x = 0, y = 0;            ///< of the centre
  double tilt = 0;                ///< radians, from x towards y
};

/// A sum of ellipses: its density and its projections are known in closed form.
using Phantom = std::vector<Ellipse>;

/// The head of L. A. Shepp and B. F. Logan (IEEE Trans. Nucl. Sci. 21 (1974) 21) with the higher contrast of
/// P. Toft (The Radon Transform, thesis, 1996, table B.3), upright, ±1 of the drawing at ±radius columns:
/// skull 1, brain 0.2.
Phantom shepp_logan(double radius);

/// Returns the density at a point.
double density_at(const Phantom& phantom, double x, double y);

/// Returns the integral of the density along the line that a detector sees at `angle` (radians), u columns
/// from the axis: x·cos − y·sin = u.
double projection_of(const Phantom& phantom, double angle, double u);

/// Returns the sinogram (n_a, w) for a geometry with its angles and corrections, from lines through the
/// centre of each column.
std::vector<float> phantom_sinogram(const Phantom& phantom, const BackprojectionGeometry& geometry);

/// Returns the density at the centre of each pixel of the geometry's region (h, w), which a reconstruction
/// must show.
std::vector<float> phantom_slice(const Phantom& phantom, const BackprojectionGeometry& geometry);

/// Writes an image (rows, columns) of little-endian f32 as numpy.save does (format version 1.0, NEP 1).
/// Throws UsageError if the file cannot be written.
void write_npy(const std::filesystem::path& file, Size rows, Size columns, std::span<const float> values);

}  // namespace peakmark
