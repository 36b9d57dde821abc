#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace peakmark {

/// Tracks the lifetime of cuMemCreate memory. It lives until each of its handles has been released as often
/// as it was created or retained, and nothing is mapped or bound to it. Unknown (imported) handles are
/// ignored.
///
/// The driver may reuse a handle's number as soon as the handle is released, although the memory is still
/// mapped. So each memory has a separate identity, and an address for the profile that no other live memory
/// has. Thread-safe.
class PhysicalMemory {
 public:
  /// A mapping without an address: a region of a sparse array, or of a multicast object. The first number is
  /// kArray or kMulticast, the second the array's handle or the object's identity.
  using Part = std::array<std::uint64_t, 8>;

  /// What a call removed, with everything that undo() needs if the driver refuses the call.
  struct Taken {
    struct Holder {
      std::uint64_t memory = 0;
      std::uint64_t handle = 0;         ///< of a released reference; otherwise 0
      std::uint64_t address = 0;        ///< of a mapping
      std::uint64_t bytes = 0;          ///< of a mapping
      std::optional<Part> part{};       ///< of a part
      std::uint64_t event_address = 0;  ///< of the memory
      std::uint32_t device = 0;         ///< of the memory
    };
    std::vector<Holder> holders;
    std::vector<std::uint64_t> ended;  ///< profile addresses of memory without a remaining holder
  };

  /// Returns the memory's address for the profile: the handle's number, unless other live memory has it
  /// already.
  std::uint64_t created(std::uint64_t handle, std::uint32_t device);
  /// Notes a handle of memory of another process or API, or another reference to known memory.
  void imported(std::uint64_t handle);
  /// Notes a cuMemRetainAllocationHandle of the memory mapped at `address`.
  void retained(std::uint64_t handle, std::uint64_t address);
  Taken release(std::uint64_t handle);

  void mapped(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);
  /// Notes an unmap, which covers one or several whole mappings.
  Taken unmap(std::uint64_t address, std::uint64_t bytes);

  void part_mapped(const Part& part, std::uint64_t handle);
  Taken unmap_part(const Part& part);
  /// Removes all parts of an array that is being destroyed.
  Taken unmap_array(std::uint64_t array);

  /// Note cuMulticastBindMem and cuMulticastBindAddr. A binding ends with the multicast object at the latest.
  void bound(std::uint64_t multicast, std::uint64_t offset, std::uint64_t handle);
  void bound_address(std::uint64_t multicast, std::uint64_t offset, std::uint64_t address);
  Taken unbind(std::uint64_t multicast, std::uint32_t device, std::uint64_t offset);

  void undo(const Taken& taken);

 private:
  struct Memory {
    std::uint64_t event_address = 0;
    std::uint32_t device = 0;
    std::int64_t holders = 0;  ///< references, mappings and parts
  };
  struct Handle {
    std::uint64_t memory = 0;
    std::int64_t references = 0;
  };
  struct Mapping {
    std::uint64_t bytes = 0;
    std::uint64_t memory = 0;
  };

  void hold(std::uint64_t memory);
  void drop(Taken::Holder holder, Taken& taken);
  void drop_parts(std::uint64_t kind, std::uint64_t owner, Taken& taken);
  void add_reference(std::uint64_t handle, std::uint64_t memory);
  void bind(std::uint64_t multicast, std::uint64_t offset, std::uint64_t memory);
  // Return 0 if the memory is unknown.
  [[nodiscard]] std::uint64_t memory_at(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t memory_of_handle(std::uint64_t handle) const;

  static constexpr std::uint64_t kArray = 0;
  static constexpr std::uint64_t kMulticast = 1;

  std::mutex mutex_;  // guards all members below
  std::uint64_t last_memory_ = 0;
  std::unordered_map<std::uint64_t, Memory> memories_;
  std::unordered_set<std::uint64_t> event_addresses_;  // of memories_
  std::unordered_map<std::uint64_t, Handle> handles_;
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<Part, std::uint64_t> parts_;
};

}  // namespace peakmark
