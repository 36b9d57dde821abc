#include "record/recorders/opencl/budget.hpp"

#include <CL/cl_ext.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "record/ledger/address_map.hpp"
#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

// More than seen in practice.
constexpr std::size_t kMaxDevices = 64;
constexpr std::size_t kMaxDeviceSets = 254;  // 255 is the number of Charge::refused()

std::int64_t budget = 0;  // per device; 0: none. Set while the layer is initialised

std::int64_t max_allocation = 0;  // bytes of one allocation; 0: no limit. Set while the layer is initialised

// More than any device has, and small enough for a charge.
constexpr std::int64_t kNoLimit = (std::int64_t{1} << Charge::kByteBits) - 1;

// Number of allocations left until one is refused, counting that one; 0 or less: none will be.
std::atomic<std::int64_t> until_refused{0};
AfterRefusal after_refusal = AfterRefusal::full_device;

/// The live bytes and the size of a device, on a separate cache line.
struct alignas(64) Account {
  std::atomic<std::int64_t> live{0};
  std::atomic<std::int64_t> size{0};

  /// Compares before it adds: a sum that exceeded the size for a moment would refuse an allocation of another
  /// thread.
  bool take(std::int64_t bytes) {
    std::int64_t before = live.load(std::memory_order_relaxed);
    do {
      if (bytes > left(before)) return false;
    } while (!live.compare_exchange_weak(before, before + bytes, std::memory_order_acq_rel));
    return true;
  }
  void give_back(std::int64_t bytes) { live.fetch_sub(bytes, std::memory_order_acq_rel); }
  /// Makes the device one byte smaller than a request of `bytes` would need.
  void shrink_below(std::int64_t bytes) {
    const std::int64_t used = live.load(std::memory_order_relaxed);
    size.store(used + std::clamp<std::int64_t>(bytes - 1, 0, left(used)), std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t left(std::int64_t used) const {
    return std::max<std::int64_t>(0, size.load(std::memory_order_relaxed) - used);
  }
};

std::array<Account, kMaxDevices> accounts{};
// Sets of devices, each as the bits of its accounts. Number 0 is not a set.
std::array<std::atomic<std::uint64_t>, kMaxDeviceSets + 1> device_sets{};
// Identifies this process in a Charge; starts at 1 and changes in every forked child.
std::atomic<std::uint8_t> process_number{1};

pthread_mutex_t guarding_devices = PTHREAD_MUTEX_INITIALIZER;  // guards additions to the tables of devices
std::array<cl_device_id, kMaxDevices> devices{};
std::size_t device_count = 0;

/// The charge of the memory at an address. A lock would cost more than the rest of a budget. Instead an
/// address has a slot near its hashed place (kNearSlots), which only the threads that allocate and release
/// this memory use.
struct ChargeSlot {
  std::atomic<std::uint64_t> address{0};  ///< 0: free
  std::atomic<std::uint64_t> charge{0};
};
constexpr unsigned kPlaceBits = 12;
constexpr std::size_t kNearSlots = 8;
std::array<ChargeSlot, (std::size_t{1} << kPlaceBits) + kNearSlots> charge_slots{};
// Charges that find no free slot. Never destroyed, because memory may be released until the process has
// ended.
pthread_mutex_t guarding_charges = PTHREAD_MUTEX_INITIALIZER;
AddressMap* crowded_charges = nullptr;
std::atomic<bool> has_crowded_charges{false};

/// Returns a place in a table of 2^bits entries. Addresses differ in their middle bits: a multiplication by
/// 2^64 / golden ratio moves these to the top.
std::size_t place_of(std::uint64_t address, unsigned bits) {
  return static_cast<std::size_t>((address * 0x9E3779B97F4A7C15U) >> (64 - bits));
}

void note_unlimited(const char* what) {
  static std::atomic<bool> noted{false};
  note_once(noted, what);
}

/// Calls `use(account)` for each device of the set, until it returns false. Returns the bits of the accounts
/// for which it returned true.
template <typename Use>
std::uint64_t for_each_account(std::uint64_t set, Use use) {
  std::uint64_t done = 0;
  for (std::uint64_t left = set; left != 0; left &= left - 1) {
    if (!use(accounts[std::countr_zero(left)])) break;
    done |= left & (~left + 1);
  }
  return done;
}

void give_back_to(std::uint64_t set, std::int64_t bytes) {
  for_each_account(set, [&](Account& account) {
    account.give_back(bytes);
    return true;
  });
}

bool take_from(std::uint64_t set, std::int64_t bytes) {
  const std::uint64_t taken = for_each_account(set, [&](Account& account) { return account.take(bytes); });
  if (taken == set) return true;
  give_back_to(taken, bytes);
  return false;
}

/// Returns the device of a sub-device, whose memory it shares.
cl_device_id whole_device(cl_device_id device) {
  cl_device_id parent = nullptr;
  while (ask_driver<&cl_icd_dispatch::clGetDeviceInfo>(device, CL_DEVICE_PARENT_DEVICE, sizeof(cl_device_id),
                                                       &parent, nullptr) == CL_SUCCESS &&
         parent != nullptr) {
    device = std::exchange(parent, nullptr);
  }
  return device;
}

using DeviceName = std::array<char, 320>;
/// The names of `devices`, as `PLATFORM: NAME`. They are queried while a context lives, because later there
/// may be no handle.
std::array<DeviceName, kMaxDevices> device_names{};

DeviceName name_of(cl_device_id device) {
  std::array<char, 160> name{};
  std::array<char, 150> platform_name{};
  cl_platform_id platform = nullptr;
  ask_driver<&cl_icd_dispatch::clGetDeviceInfo>(device, CL_DEVICE_NAME, name.size() - 1, name.data(),
                                                nullptr);
  if (ask_driver<&cl_icd_dispatch::clGetDeviceInfo>(device, CL_DEVICE_PLATFORM, sizeof(cl_platform_id),
                                                    &platform, nullptr) == CL_SUCCESS &&
      platform != nullptr) {
    ask_driver<&cl_icd_dispatch::clGetPlatformInfo>(platform, CL_PLATFORM_NAME, platform_name.size() - 1,
                                                    platform_name.data(), nullptr);
  }
  DeviceName text{};
  std::snprintf(text.data(), text.size(), "%s: %s", platform_name.data(), name.data());
  return text;
}

/// Returns the index of a device; device_count if it is unknown. The caller must hold `guarding_devices`.
std::size_t place_of_device(cl_device_id device) {
  std::size_t index = 0;
  while (index < device_count && devices[index] != device) ++index;
  return index;
}

/// Returns the index of a device; kMaxDevices if there are too many.
std::size_t index_of(cl_device_id device) {
  {
    const MutexLock lock(guarding_devices);
    if (const std::size_t index = place_of_device(device); index < device_count) return index;
  }
  const DeviceName name = name_of(device);  // calls the driver, so not under the lock
  const MutexLock lock(guarding_devices);
  const std::size_t index = place_of_device(device);
  if (index == device_count && index < kMaxDevices) {
    device_names[index] = name;
    devices[device_count++] = device;
  }
  return index;
}

/// Returns the number of this set of devices; 0 if there are too many devices or sets.
std::uint8_t number_of_set(const cl_device_id* first, std::size_t count) {
  std::uint64_t set = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = index_of(whole_device(first[i]));
    if (index == kMaxDevices) return 0;
    set |= std::uint64_t{1} << index;
  }
  const MutexLock lock(guarding_devices);
  for (std::size_t number = 1; number <= kMaxDeviceSets; ++number) {
    if (device_sets[number] == 0) device_sets[number] = set;
    if (device_sets[number] == set) return static_cast<std::uint8_t>(number);
  }
  return 0;
}

/// Returns 0 if `context` is not a context: the driver refuses it. Not inlined, like everything that an
/// allocation rarely needs, because its stack frame would slow every allocation down.
[[gnu::noinline]] std::uint8_t devices_of(cl_context context) {
  std::array<cl_device_id, kMaxDevices> found{};
  std::size_t bytes = 0;
  const auto ask = [context](std::size_t size, void* value, std::size_t* size_ret) {
    return ask_driver<&cl_icd_dispatch::clGetContextInfo>(context, CL_CONTEXT_DEVICES, size, value, size_ret);
  };
  const cl_int result = ask(0, nullptr, &bytes);
  if (result == CL_INVALID_CONTEXT) return 0;
  std::uint8_t number = 0;
  if (result == CL_SUCCESS && bytes <= sizeof(found) && ask(bytes, found.data(), nullptr) == CL_SUCCESS)
    number = number_of_set(found.data(), bytes / sizeof(cl_device_id));
  if (number == 0 && budget != 0) {
    note_unlimited(
        "the budget does not limit a context: its driver does not report its devices, or they are too many");
  }
  return number;
}

/// A cache of the device sets of contexts: each entry has a context, shifted, and the number of its set. A
/// context replaces another one with the same entry.
constexpr unsigned kContextBits = 6;
std::array<std::atomic<std::uint64_t>, std::size_t{1} << kContextBits> sets_of_contexts{};

std::atomic<std::uint64_t>& entry_of(cl_context context) {
  return sets_of_contexts[place_of(to_address(context), kContextBits)];
}

std::uint8_t set_of(cl_context context) {
  std::atomic<std::uint64_t>& entry = entry_of(context);
  const std::uint64_t known = entry.load(std::memory_order_acquire);
  if (known != 0 && known >> 8 == to_address(context)) return static_cast<std::uint8_t>(known);
  const std::uint8_t number = context == nullptr ? 0 : devices_of(context);
  if (number != 0 && to_address(context) >> 56 == 0)
    entry.store(to_address(context) << 8 | number, std::memory_order_release);
  return number;
}

// The device sets with memory of this process, and the first of them: with only one, no names are written.
std::array<std::atomic<bool>, kMaxDeviceSets + 1> used_sets{};
std::atomic<std::uint8_t> first_set{0};
std::atomic<bool> has_named_first{false};

void write_names(std::uint8_t number) {
  std::array<char, 2048> text{};
  std::size_t used = 0;
  for (std::uint64_t left = device_sets[number].load(); left != 0 && used < text.size(); left &= left - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(left));
    const int added =
        std::snprintf(text.data() + used, text.size() - used, "%zu %s\n", index, device_names[index].data());
    used += static_cast<std::size_t>(std::max(added, 0));
  }
  layer.writer.device(number, text.data());
}

[[gnu::noinline]] void note_set(std::uint8_t number) {
  if (used_sets[number].exchange(true)) return;
  std::uint8_t none = 0;
  if (first_set.compare_exchange_strong(none, number)) return;
  if (!has_named_first.exchange(true)) write_names(first_set.load());
  write_names(number);
}

/// Forgets an ended context whose handle a new context may have.
cl_context forget_older(cl_context context) {
  if (context != nullptr) entry_of(context).store(0, std::memory_order_release);
  return context;
}

Charge take_for(std::uint8_t number, std::int64_t bytes) {
  if (number == 0) return Charge();
  // A request of 2^63 bytes or more is negative.
  if (bytes < 0 || !take_from(device_sets[number].load(std::memory_order_relaxed), bytes))
    return Charge::refused();
  return Charge(number, process_number.load(std::memory_order_relaxed), bytes);
}

bool is_limited(MemoryKind kind) {
  return budget != 0 && kind != MemoryKind::view && counts_into_peak(kind);
}

/// Returns whether this is the allocation to refuse.
bool is_refused_one(MemoryKind kind) {
  if (until_refused.load(std::memory_order_relaxed) <= 0) return false;
  if (kind == MemoryKind::view || !counts_into_peak(kind)) return false;
  return until_refused.fetch_sub(1, std::memory_order_relaxed) == 1;
}

Charge refuse_one(std::uint8_t number, std::int64_t bytes) {
  if (after_refusal == AfterRefusal::full_device) {
    for_each_account(device_sets[number].load(std::memory_order_relaxed), [&](Account& account) {
      account.shrink_below(bytes);
      return true;
    });
  }
  return Charge::refused();
}

bool is_of_this_process(Charge charge) {
  return !charge.is_empty() && charge.process() == process_number.load(std::memory_order_relaxed);
}

void set_sizes() {
  for (Account& account : accounts) account.size.store(budget);
}

/// A forked child has none of its parent's memory. If it releases such memory, no bytes must be given back.
void forget_parent() {
  std::uint8_t number = process_number.load() + 1;
  if (number == 0) number = 1;
  process_number.store(number);
  for (std::atomic<bool>& used : used_sets) used.store(false);
  first_set.store(0);
  has_named_first.store(false);
  for (Account& account : accounts) account.live.store(0);
  set_sizes();
  for (ChargeSlot& slot : charge_slots) slot.address.store(0);
  if (crowded_charges != nullptr) *crowded_charges = AddressMap();
  pthread_mutex_unlock(&guarding_charges);
  pthread_mutex_unlock(&guarding_devices);
}

void follow_forks_of_devices() {
  pthread_atfork(
      [] {
        pthread_mutex_lock(&guarding_devices);
        pthread_mutex_lock(&guarding_charges);
      },
      [] {
        pthread_mutex_unlock(&guarding_charges);
        pthread_mutex_unlock(&guarding_devices);
      },
      forget_parent);
}

std::span<ChargeSlot> slots_near(std::uint64_t address) {
  return std::span(charge_slots).subspan(place_of(address, kPlaceBits), kNearSlots);
}

[[gnu::noinline]] void store_crowded(std::uint64_t address, Charge charge) {
  try {
    const MutexLock lock(guarding_charges);
    if (crowded_charges == nullptr) crowded_charges = new AddressMap;
    crowded_charges->insert({address, charge.packed()});
    has_crowded_charges.store(true, std::memory_order_release);
  } catch (...) {  // too little host memory: the charge could not be found at the release
    give_budget_back(charge);
  }
}

[[gnu::noinline]] Charge withdraw_crowded(std::uint64_t address) {
  const MutexLock lock(guarding_charges);
  const LiveEntry* const entry = crowded_charges->find(address);
  if (entry == nullptr) return {};
  const Charge charge(entry->index);
  crowded_charges->erase(address);
  return charge;
}

template <auto Slot, typename Function>
struct ForgettingOlder;

template <auto Slot, typename... Arguments>
struct ForgettingOlder<Slot, cl_context(CL_API_CALL*)(Arguments...)> {
  static cl_context CL_API_CALL call(Arguments... arguments) { return forget_older(forward(arguments...)); }
  static inline cl_context(CL_API_CALL* forward)(Arguments...) = nullptr;
};

/// Replaces the number at `value` by the smaller one.
template <typename Number>
void limit(void* value, Number most) {
  Number number = 0;
  std::memcpy(&number, value, sizeof(number));
  number = std::min(number, most);
  std::memcpy(value, &number, sizeof(number));
}

std::int64_t bytes_left(cl_device_id device) {
  const std::uint8_t number = number_of_set(&device, 1);
  if (number == 0) return budget;
  const Account& account = accounts[std::countr_zero(device_sets[number].load())];
  return account.left(account.live.load());
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size, void* value,
                                   size_t* size_ret) {
  const cl_int result = layer.next().clGetDeviceInfo(device, what, size, value, size_ret);
  if (result != CL_SUCCESS || value == nullptr) return result;
  if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && max_allocation != 0)
    limit(value, static_cast<cl_ulong>(max_allocation));
  if (budget == 0) return result;
  if (what == CL_DEVICE_GLOBAL_MEM_SIZE || what == CL_DEVICE_MAX_MEM_ALLOC_SIZE) {
    limit(value, static_cast<cl_ulong>(budget));
  } else if (what == CL_DEVICE_GLOBAL_FREE_MEMORY_AMD) {
    // The free KiB and, if the program has space for it, those of the largest free block.
    const auto left = static_cast<std::size_t>(bytes_left(device)) / 1024;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, size / sizeof(left)); ++i)
      limit(static_cast<std::size_t*>(value) + i, left);
  }
  return result;
}

}  // namespace

void hook_devices() {
  static std::atomic<bool> follows_forks{false};
  if (!follows_forks.exchange(true)) follow_forks_of_devices();
  put_hooks<ForgettingOlder, &cl_icd_dispatch::clCreateContext, &cl_icd_dispatch::clCreateContextFromType>();
}

std::uint32_t note_devices(cl_context context, cl_device_id device) {
  const std::uint8_t number = device == nullptr ? set_of(context) : number_of_set(&device, 1);
  if (number != 0 && !used_sets[number].load(std::memory_order_relaxed)) note_set(number);
  return number;
}

void hook_budget(std::int64_t bytes) {
  if (budget == 0) {
    budget = bytes;
    set_sizes();
  }
  hook(&cl_icd_dispatch::clGetDeviceInfo, get_device_info);
}

void hook_max_allocation(std::int64_t bytes) {
  max_allocation = bytes;
  hook(&cl_icd_dispatch::clGetDeviceInfo, get_device_info);
}

// A request of 2^63 bytes or more is negative.
bool is_too_large(std::int64_t bytes, MemoryKind kind) {
  return max_allocation != 0 && (bytes < 0 || bytes > max_allocation) && kind != MemoryKind::view &&
         counts_into_peak(kind);
}

void refuse_from(std::int64_t number, AfterRefusal after) {
  if (after == AfterRefusal::full_device) hook_budget(kNoLimit);
  static std::atomic<bool> is_planned{false};
  if (is_planned.exchange(true)) return;
  after_refusal = after;
  until_refused.store(number);
}

Charge take_budget(cl_context context, std::int64_t bytes, MemoryKind kind) {
  if (is_refused_one(kind)) return refuse_one(set_of(context), bytes);
  return take_budget_again(context, bytes, kind);
}

Charge take_budget_again(cl_context context, std::int64_t bytes, MemoryKind kind) {
  if (is_too_large(bytes, kind)) return Charge::refused();
  return is_limited(kind) ? take_for(set_of(context), bytes) : Charge();
}

Charge take_budget(cl_context context, cl_device_id device, std::int64_t bytes, MemoryKind kind) {
  if (device == nullptr || !is_limited(kind)) return take_budget(context, bytes, kind);
  if (is_too_large(bytes, kind)) return Charge::refused();
  const std::uint8_t number = number_of_set(&device, 1);
  return is_refused_one(kind) ? refuse_one(number, bytes) : take_for(number, bytes);
}

bool change_budget(Charge& charge, std::int64_t bytes) {
  const std::int64_t more = bytes - charge.bytes();
  if (!is_of_this_process(charge) || more == 0) return true;
  const std::uint64_t set = device_sets[charge.devices()].load(std::memory_order_relaxed);
  if (more < 0) {
    give_back_to(set, -more);
  } else if (!take_from(set, more)) {
    return false;
  }
  charge = Charge(charge.devices(), charge.process(), bytes);
  return true;
}

void give_budget_back(Charge charge) {
  if (!is_of_this_process(charge)) return;
  give_back_to(device_sets[charge.devices()].load(std::memory_order_relaxed), charge.bytes());
}

void store_charge(const void* memory, Charge charge) {
  if (charge.is_empty()) return;
  const std::uint64_t address = to_address(memory);
  for (ChargeSlot& slot : slots_near(address)) {
    std::uint64_t expected = 0;
    if (!slot.address.compare_exchange_strong(expected, address, std::memory_order_acq_rel)) continue;
    return slot.charge.store(charge.packed(), std::memory_order_release);
  }
  store_crowded(address, charge);
}

Charge withdraw_charge(const void* memory) {
  if (budget == 0 || memory == nullptr) return {};
  const std::uint64_t address = to_address(memory);
  for (ChargeSlot& slot : slots_near(address)) {
    if (slot.address.load(std::memory_order_acquire) != address) continue;
    const Charge charge(slot.charge.load(std::memory_order_acquire));
    slot.address.store(0, std::memory_order_release);
    return charge;
  }
  return has_crowded_charges.load(std::memory_order_acquire) ? withdraw_crowded(address) : Charge();
}

}  // namespace peakmark::opencl_layer
