#pragma once

// A device of the size that the user asks for ($PEAKMARK_BUDGET, `record --budget`): an allocation that would
// make the live bytes of its device exceed the budget is refused before the driver is called.
//
// Each device of this process has an account of its live bytes. An allocation takes its bytes first, and
// gives them back if the driver refuses: so the live bytes of a device never exceed the budget, in any order
// of the threads. A release gives bytes back after its event is written: so those of the profile do not
// exceed it either. Memory of a context with several devices counts on each of them. A forked child begins
// with nothing live.
#include <CL/cl_icd.h>

#include <cstdint>

#include "profile/event.hpp"

namespace peakmark::opencl_layer {

/// What an allocation has taken of the accounts of its devices: 64 bits, so that it fits the user data of a
/// driver's callback. Zero: nothing, since there is no budget, or it does not limit this memory.
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
  /// What take_budget() returns if the budget refuses. Not an optional: as a pair of words in memory it costs
  /// more than the account, since it is read in other pieces than it was written in.
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

/// Hooks the calls that create contexts: a new one may have the handle of another one that has ended. Call it
/// while the layer is initialised; later calls hook further loaders.
void hook_devices();
/// Returns the number of the devices whose memory an allocation takes (Event::Amounts::device); 0: not known.
/// `device`: null: those of the context. From the second number on the profile has the names of all.
std::uint32_t note_devices(cl_context context, cl_device_id device);

/// Refuses from now on what exceeds `bytes` per device. Hooks the calls that report the size of a device to
/// the program, and those that create contexts. Call it while the layer is initialised; later calls hook
/// further loaders.
void hook_budget(std::int64_t bytes);

/// Refuses from now on each allocation of more than `bytes` ($PEAKMARK_MAX_ALLOCATION), which is then what a
/// device reports as its limit. Call it as hook_budget().
void hook_max_allocation(std::int64_t bytes);
/// Returns true for an allocation that is larger than that.
bool is_too_large(std::int64_t bytes, MemoryKind kind);

/// What happens after an allocation of PEAKMARK_REFUSE.
enum class AfterRefusal : std::uint8_t {
  full_device,  ///< its devices have one byte less than it needed: later requests must fit, too
  other_again,  ///< every other request is given to the driver ($PEAKMARK_REFUSE_ONCE)
};

/// Refuses an allocation of this process: that of this number, from 1, among those that count into the peak
/// ($PEAKMARK_REFUSE, `peakmark oom`). Call it while the layer is initialised; later calls only hook further
/// loaders.
void refuse_from(std::int64_t number, AfterRefusal after);

/// Takes `bytes` of the budget of each device of the context. Returns Charge::refused(), and takes nothing,
/// if one of them has not as many left.
Charge take_budget(cl_context context, std::int64_t bytes, MemoryKind kind);
/// The same for memory of one device. Null device: those of the context.
Charge take_budget(cl_context context, cl_device_id device, std::int64_t bytes, MemoryKind kind);
/// Takes the budget of a request that was refused before. It does not count as another allocation.
Charge take_budget_again(cl_context context, std::int64_t bytes, MemoryKind kind);
/// Changes what was taken to `bytes`. Returns false, and changes nothing, if not as many are left.
bool change_budget(Charge& charge, std::int64_t bytes);
void give_budget_back(Charge charge);

/// Stores the charge of memory that is released by its address (SVM, USM), until withdraw_charge().
void store_charge(const void* memory, Charge charge);
/// Removes and returns the charge. Call it before the driver frees the memory: another thread may get the
/// address at once.
Charge withdraw_charge(const void* memory);

}  // namespace peakmark::opencl_layer
