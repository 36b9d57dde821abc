#include "kernels/padding/element_type.hpp"

namespace peakmark {

DType bits_of(DType dtype) {
  return with_element_type(dtype, []<typename T>(T) {
    if constexpr (sizeof(T) == 1) return DType::u8;
    if constexpr (sizeof(T) == 2) return DType::u16;
    if constexpr (sizeof(T) == 4) return DType::u32;
    if constexpr (sizeof(T) == 8) return DType::u64;
  });
}

}  // namespace peakmark
