#include "measure/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/error.hpp"
#include "record/profile/event_source.hpp"

namespace peakmark {
namespace {

constexpr Size kPieceBytes = Size{64} << 20;
// PoCL copies up to four times slower if host and device addresses collide modulo a page. With a fixed
// alignment of the staging area, the same push takes the same time in every run.
constexpr std::align_val_t kStagingAlignment{4096};

class Staging {
 public:
  explicit Staging(Size bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(static_cast<std::byte*>(::operator new(bytes_, kStagingAlignment))) {}
  ~Staging() { ::operator delete(data_, kStagingAlignment); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  [[nodiscard]] std::span<std::byte> first(Size bytes) const {
    return {data_, static_cast<std::size_t>(bytes)};
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace

Array Device::create_uninitialised(std::string_view name, const Shape& shape, DType dtype) {
  const Size bytes = shape.bytes(dtype);
  if (bytes == 0) return {nullptr, shape, dtype};
  Array array(allocate(bytes), shape, dtype);
  if (events_ != nullptr) events_->name(array.buffer().handle(), name);
  return array;
}

void Device::name_allocation(std::uint64_t address, std::string_view name) {
  if (events_ != nullptr) events_->name(address, name);
}

Array Device::create(std::string_view name, const Shape& shape, DType dtype) {
  Array array = create_uninitialised(name, shape, dtype);
  fill(array, 0);
  return array;
}

void Device::fill(Array& array, double value) {
  fill_part(array, 0, array.shape().elements(), value);
}

void Device::write_generated(Array& array, const std::function<void(std::span<std::byte>, Size)>& generate) {
  const Size total = array.bytes();
  const Size element = size_of(array.dtype());
  if (total == 0) return;
  const Staging staging(std::min(total, kPieceBytes));
  for (Size offset = 0; offset < total; offset += kPieceBytes) {
    const std::span<std::byte> piece = staging.first(std::min(total - offset, kPieceBytes));
    generate(piece, offset / element);
    write_bytes(array, offset, piece);
  }
}

void Device::check(const Array& array, DType dtype, Size elements) {
  if (array.dtype() != dtype) {
    throw UsageError(fmt::format("array of {} accessed as {}: dtypes are never converted",
                                 to_string(array.dtype()), to_string(dtype)));
  }
  if (array.shape().elements() != elements) {
    throw UsageError(fmt::format("wrong number of elements: {} for an array {} of {}", elements,
                                 array.shape().text(), array.shape().elements()));
  }
}

void Device::check_holds_data() const {
  if (is_dry()) throw Unsupported("the dry backend computes nothing: it has no data to read");
}

}  // namespace peakmark
