#include "kernels/fft/plan_memory.hpp"

#include <algorithm>
#include <span>

#include "kernels/common/arrays.hpp"

namespace peakmark {

PlanMemory*& PlanMemory::current() {
  thread_local PlanMemory* memory = nullptr;
  return memory;
}

std::uintptr_t PlanMemory::allocate(std::size_t bytes, Use use, const void* data) noexcept {
  const auto size = static_cast<Size>(bytes);
  try {
    DeviceArray array =
        create_uninitialised(*device_, use == Use::table ? "fft_tables" : "fft_work", {size}, DType::u8);
    if (data != nullptr) array.write<std::uint8_t>(std::span(static_cast<const std::uint8_t*>(data), bytes));
    (use == Use::table ? table_bytes_ : work_bytes_) += size;
    return arrays_.emplace_back(std::move(array)).handle();
  } catch (...) {
    failure_ = std::current_exception();
    return 0;
  }
}

void PlanMemory::release(std::uintptr_t handle) noexcept {
  std::erase_if(arrays_, [&](const DeviceArray& array) { return array.handle() == handle; });
}

bool PlanMemory::write(std::uintptr_t handle, const void* data, std::size_t bytes) noexcept {
  try {
    const auto array = std::ranges::find(arrays_, handle, &DeviceArray::handle);
    if (array == arrays_.end()) return false;
    array->write<std::uint8_t>(std::span(static_cast<const std::uint8_t*>(data), bytes));
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

}  // namespace peakmark
