#include "kernels/fft/plan_memory.hpp"

#include <algorithm>
#include <span>

namespace peakmark {

PlanMemory*& PlanMemory::current() {
  thread_local PlanMemory* memory = nullptr;
  return memory;
}

std::uint64_t PlanMemory::allocate(std::size_t bytes, Use use, const void* data) noexcept {
  const auto size = static_cast<Size>(bytes);
  try {
    Array array =
        device_->create_uninitialised(use == Use::table ? "fft_tables" : "fft_work", {size}, DType::u8);
    if (data != nullptr)
      device_->write<std::uint8_t>(array, std::span(static_cast<const std::uint8_t*>(data), bytes));
    (use == Use::table ? table_bytes_ : work_bytes_) += size;
    return arrays_.emplace_back(std::move(array)).buffer().handle();
  } catch (...) {
    failure_ = std::current_exception();
    return 0;
  }
}

void PlanMemory::release(std::uint64_t handle) noexcept {
  std::erase_if(arrays_, [&](const Array& array) { return array.buffer().handle() == handle; });
}

bool PlanMemory::write(std::uint64_t handle, const void* data, std::size_t bytes) noexcept {
  try {
    const auto array = std::ranges::find(arrays_, handle, [](const Array& a) { return a.buffer().handle(); });
    if (array == arrays_.end()) return false;
    device_->write<std::uint8_t>(*array, std::span(static_cast<const std::uint8_t*>(data), bytes));
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

}  // namespace peakmark
