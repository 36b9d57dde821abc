#pragma once

// A device with the size that the user requests ($PEAKMARK_BUDGET, `record --budget`): if an allocation would
// make the live bytes of its device exceed the budget, it is refused before the driver is called.
//
// Each device of this process has an account of its live bytes. An allocation takes its bytes first, and
// gives them back if the driver refuses: so the live bytes of a device never exceed the budget, in any order
// of the threads. A release gives bytes back after its event is written, so the live bytes in the profile do
// not exceed the budget either. Memory of a context with several devices counts on each of them. A forked
// child begins with nothing live.
#include <CL/cl_icd.h>

#include <cstdint>

#include "record/profile/event.hpp"

namespace peakmark::opencl_layer {

/// The bytes that an allocation has taken from the accounts of its devices, in 64 bits, so that they fit the
/// user data of a driver's callback. Zero: nothing, because there is no budget, or it does not limit this
/// memory.
class Charge {
 public:
  static constexpr unsigned kByteBits = 48;

  constexpr Charge() = default;
  constexpr explicit Charge(std::uint64_t packed) : packed_(packed) {}
  /// `devices`: number of the set of devices, from 1; `process`: see forget_parent().
  constexpr Charge(std::uint8_t devices, std::uint8_t process, std::int64_t bytes)
      : packed_(std::uint64_t{devices} << 56 | std::uint64_t{process} << kByteBits |
                static_cast<std::uint64_t>(bytes)) {}

  [[nodiscard]] constexpr std::uint64_t packed() const { return packed_; }
  [[nodiscard]] constexpr bool is_empty() const { return packed_ == 0; }
  /// Returned by take_budget() if the budget refuses. A std::optional would be slower than the account
  /// itself, because its two words are read from memory in pieces of another size than they were written.
  static constexpr Charge refused() { return Charge(~std::uint64_t{0}); }
  [[nodiscard]] constexpr bool is_refused() const { return packed_ == ~std::uint64_t{0}; }
  [[nodiscard]] constexpr std::uint8_t devices() const { return static_cast<std::uint8_t>(packed_ >> 56); }
  [[nodiscard]] constexpr std::uint8_t process() const {
    return static_cast<std::uint8_t>(packed_ >> kByteBits);
  }
  [[nodiscard]] constexpr std::int64_t bytes() const {
    return static_cast<std::int64_t>(packed_ & ((std::uint64_t{1} << kByteBits) - 1));
  }

 private:
  std::uint64_t packed_ = 0;
};

/// Hooks the calls that create contexts, because a new context may have the handle of an ended one. Call it
/// while the layer is initialised; later calls hook further loaders.
void hook_devices();
/// Returns the number of the set of devices whose memory an allocation takes (Event::Amounts::device); 0:
/// unknown. `device` null: all devices of the context. From the second number on, the profile has the names
/// of all.
std::uint32_t note_devices(cl_context context, cl_device_id device);

/// From now on refuses allocations that exceed `bytes` per device. Hooks the calls that report the size of a
/// device to the program, and those that create contexts. Call it while the layer is initialised; later calls
/// hook further loaders.
void hook_budget(std::int64_t bytes);

/// From now on refuses each allocation of more than `bytes` ($PEAKMARK_MAX_ALLOCATION); devices report this
/// limit to the program. Call it as hook_budget().
void hook_max_allocation(std::int64_t bytes);
/// Returns true for an allocation that exceeds the limit of hook_max_allocation().
bool is_too_large(std::int64_t bytes, MemoryKind kind);

/// What happens after the allocation that PEAKMARK_REFUSE refuses.
enum class AfterRefusal : std::uint8_t {
  full_device,  ///< its devices have one byte less than it needed, which limits later requests, too
  other_again,  ///< every other request is passed to the driver ($PEAKMARK_REFUSE_ONCE)
};

/// Refuses one allocation of this process: the one with this number, from 1, among those that count into the
/// peak ($PEAKMARK_REFUSE, `peakmark oom`). Call it while the layer is initialised; later calls only hook
/// further loaders.
void refuse_from(std::int64_t number, AfterRefusal after);

/// Takes `bytes` from the budget of each device of the context. If one of them has fewer left, takes nothing
/// and returns Charge::refused().
Charge take_budget(cl_context context, std::int64_t bytes, MemoryKind kind);
/// Does the same for memory of one device. Null device: all devices of the context.
Charge take_budget(cl_context context, cl_device_id device, std::int64_t bytes, MemoryKind kind);
/// Takes the budget for a request that was refused before. It does not count as another allocation.
Charge take_budget_again(cl_context context, std::int64_t bytes, MemoryKind kind);
/// Changes the taken bytes to `bytes`. If fewer are left, changes nothing and returns false.
bool change_budget(Charge& charge, std::int64_t bytes);
void give_budget_back(Charge charge);

/// Stores the charge of memory that is released by its address (SVM, USM), until withdraw_charge().
void store_charge(const void* memory, Charge charge);
/// Removes and returns the charge. Call it before the driver frees the memory: another thread may get the
/// address at once.
Charge withdraw_charge(const void* memory);

}  // namespace peakmark::opencl_layer
