#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace peakmark {

/// Bytes that the variables of a module take on the device: the sections .nv.global (__device__,
/// __managed__), .nv.global.init (initialised ones, texts of printf) and .nv.constant3 (__constant__) of its
/// image, an ELF file for a device. 0 for an image that is none, or that ends before its sections do.
std::int64_t module_globals_bytes(std::span<const std::byte> image);

}  // namespace peakmark
