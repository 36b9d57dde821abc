#pragma once

#include <filesystem>
#include <span>

#include "base/size.hpp"

namespace peakmark {

/// Writes an image (rows, columns) of little-endian f32 as numpy.save does (format version 1.0, NEP 1).
/// Throws UsageError if the file cannot be written.
void write_npy(const std::filesystem::path& file, Size rows, Size columns, std::span<const float> values);

}  // namespace peakmark
