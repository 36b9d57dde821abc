#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace peakmark {

/// How long memory of cuMemCreate lives: until its handle is released as often as it was created or retained,
/// and no address is mapped to it. Handles that were imported are not known here and are ignored.
/// Thread-safe.
class PhysicalMemory {
 public:
  struct Mapping {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t handle;
  };

  void created(std::uint64_t handle);
  void retained(std::uint64_t handle);
  /// True when that was the end of the memory.
  bool released(std::uint64_t handle);
  void mapped(const Mapping& mapping);
  /// What lay inside [address, address + bytes), and the handles whose memory ended with it.
  struct Unmapped {
    std::vector<Mapping> mappings;
    std::vector<std::uint64_t> ended;
  };
  Unmapped unmapped(std::uint64_t address, std::uint64_t bytes);

 private:
  struct Holders {
    std::int64_t references = 0;
    std::int64_t mappings = 0;
  };
  bool drop_if_unheld(std::uint64_t handle);

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Holders> handles_;
  std::map<std::uint64_t, Mapping> mappings_;
};

}  // namespace peakmark
