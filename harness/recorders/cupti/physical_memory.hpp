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

/// How long memory of cuMemCreate lives: until each of its handles is released as often as it was created or
/// retained, and nothing is mapped or bound to it. Imported handles are not known here and are ignored.
///
/// The driver may use a handle's number again as soon as the handle is released, although the memory is still
/// mapped. So memory has an identity of its own, and an address for the profile that no other live memory
/// has. Thread-safe.
class PhysicalMemory {
 public:
  /// A place without an address at which memory is mapped: a region of a sparse array, or of a multicast
  /// object. The first number is 0 or kMulticast, the second the array's handle or the object's identity.
  using Part = std::array<std::uint64_t, 8>;

  /// What a call took away: enough to give it back when the driver refuses the call.
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
    std::vector<std::uint64_t> ended;  ///< addresses, for the profile, of memory that nothing holds any more
  };

  /// Returns the memory's address for the profile: the handle's number, unless other memory still has it.
  std::uint64_t created(std::uint64_t handle, std::uint32_t device);
  /// A handle of memory that another process or API has made, or one more reference to memory known here.
  void imported(std::uint64_t handle);
  /// cuMemRetainAllocationHandle of the memory that is mapped at `address`.
  void retained(std::uint64_t handle, std::uint64_t address);
  Taken release(std::uint64_t handle);

  void mapped(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);
  /// An unmap covers whole mappings, one or several.
  Taken unmap(std::uint64_t address, std::uint64_t bytes);

  void part_mapped(const Part& part, std::uint64_t handle);
  Taken unmap_part(const Part& part);
  /// All parts of an array that is destroyed.
  Taken unmap_array(std::uint64_t array);

  /// cuMulticastBindMem, cuMulticastBindAddr. What is bound ends with the multicast object at the latest.
  void bound(std::uint64_t multicast, std::uint64_t offset, std::uint64_t handle);
  void bound_address(std::uint64_t multicast, std::uint64_t offset, std::uint64_t address);
  Taken unbind(std::uint64_t multicast, std::uint32_t device, std::uint64_t offset);

  void give_back(const Taken& taken);

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
  // 0 where it is unknown.
  [[nodiscard]] std::uint64_t memory_at(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t memory_of(std::uint64_t handle) const;

  static constexpr std::uint64_t kArray = 0;
  static constexpr std::uint64_t kMulticast = 1;

  std::mutex mutex_;  // of all that follows
  std::uint64_t last_memory_ = 0;
  std::unordered_map<std::uint64_t, Memory> memories_;
  std::unordered_set<std::uint64_t> event_addresses_;  // of memories_
  std::unordered_map<std::uint64_t, Handle> handles_;
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<Part, std::uint64_t> parts_;
};

}  // namespace peakmark
