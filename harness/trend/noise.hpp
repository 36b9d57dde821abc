#pragma once

#include <span>

namespace peakmark::trend {

/// What the nights of one level look like, on the log scale.
struct Noise {
  double centre = 0;  ///< median
  double spread = 0;  ///< standard deviation of one night, outliers clipped
  double persistence =
      0;  ///< correlation of a night with the one before, 0 … 1, never told too low by chance
};

/// The least spread that is believed: times that repeat better than this (a counter, a rounded clock) must
/// not make news of nothing.
inline constexpr double kMinSpread = 1e-3;
/// A night counts as at most so many spreads from the centre, when spread and persistence are estimated.
inline constexpr double kClip = 2.5;

/// Median of at least one value; reorders them.
double median_in_place(std::span<double> values);

/// Of at least 3 finite values in order of time. The spread is the standard deviation of the values clipped
/// at `kClip` times their scaled median absolute deviation, made consistent for Gaussian noise (Huber's
/// proposal in one step); the persistence the correlation of neighbours among the clipped values and 0.3 of
/// its standard errors 1/√n, 0 where that is negative. `scratch` has room for as many values.
Noise estimate_noise(std::span<const double> values, std::span<double> scratch);

/// Variance of the mean of `count` neighbours of a stationary AR(1) series of variance 1 and correlation
/// `persistence`: (1/k) (1 + 2 Σ_{j<k} (1 − j/k) φ^j). Box, Jenkins, Reinsel, Time Series Analysis, 2.1.
double variance_of_mean(int count, double persistence);

}  // namespace peakmark::trend
