#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "record/recorders/cupti/tests/fake_libcuda.h"

// A random program's own account of its memory, by the documentation in cuda.h, without code of the recorder
// or of the ledger.

struct OwnAccount {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  std::int64_t failed = 0;
  std::int64_t live_on[2] = {};

  void add(std::int64_t bytes, int device) {
    live += bytes;
    live_on[device] += bytes;
    peak = std::max(peak, live);
  }
  void remove(std::int64_t bytes, int device) {
    live -= bytes;
    live_on[device] -= bytes;
  }
};

struct Context {
  CUcontext handle = nullptr;
  CUgreenCtx green = nullptr;
  int device = 0;
  bool primary = false;
  int references = 0;        ///< 0: the context does not exist
  int greens = 0;            ///< of a primary context: references by green contexts
  Context* owner = nullptr;  ///< the owner of memory that is allocated in this context
};

struct Pool {
  CUmemoryPool handle = nullptr;
  int device = 0;
  bool counts = true;  ///< its memory is device memory
  bool is_default = false;
  bool destroyed = false;
};

/// An allocation that a single call ends.
struct Item {
  enum class How { free, host, registered, array, mipmapped };
  How how = How::free;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;  ///< bytes that count into the peak
  int device = 0;
  Context* owner = nullptr;    ///< the memory ends with it; null: memory of a pool
  Context* made_in = nullptr;  ///< the context that was current then
  Pool* pool = nullptr;
};

/// Memory of cuMemCreate.
struct Chunk {
  std::int64_t bytes = 0;
  bool counts = true;
  int device = 0;
  int mappings = 0;
  std::vector<CUmemGenericAllocationHandle> handles;  ///< one entry per reference
};
struct Mapped {
  CUdeviceptr address = 0;
  std::size_t parts = 0;  ///< number of adjacent mappings of the same size
  std::size_t bytes = 0;  ///< of all parts
  Chunk* chunk = nullptr;
};

#define EXPECT_RESULT(call, expected)                                                              \
  do {                                                                                             \
    const CUresult result_ = (call);                                                               \
    if (result_ != (expected)) {                                                                   \
      std::fprintf(stderr, "%s:%d: %s: CUDA error %d\n", __FILE__, __LINE__, #call, (int)result_); \
      std::exit(3);                                                                                \
    }                                                                                              \
  } while (false)
#define CHECK(call) EXPECT_RESULT(call, CUDA_SUCCESS)

/// A program generated from a seed. Everything that a recorder may do wrong has a trigger, a name by which it
/// can be omitted.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::set<std::string> triggers);
  ~RandomProgram();
  void run(int steps);
  [[nodiscard]] const OwnAccount& account() const { return account_; }

  struct Action {
    const char* trigger;  ///< empty: in every program
    void (RandomProgram::*act)();
  };
  static const std::vector<Action>& actions();
  static std::vector<std::string> triggers();

 private:
  // random_program.cpp
  void allocate_plain();
  void allocate_host();
  void free_item();
  void free_without_context();
  void free_unknown();
  void create_array();
  void create_mipmapped();
  void create_clamped_mipmapped();
  void create_sparse();
  void exhaust();
  // random_program_pools.cpp
  void allocate_async();
  void allocate_from_pool();
  void allocate_from_host_pool();
  void create_pool();
  void destroy_pool();
  void trim_pool();
  void capture();
  void build_graph();
  void import_memory();
  // random_program_contexts.cpp
  void create_context();
  void destroy_context();
  void detach_context();
  void retain_primary();
  void release_primary();
  void reset_primary();
  void green_context();
  void fork_child();
  void be_concurrent();
  // random_program_physical.cpp
  void create_chunk();
  void map_chunk();
  void unmap_chunk();
  void release_chunk();
  void retain_chunk();
  void map_array();
  void bind_multicast();

  [[nodiscard]] bool on(const std::string& trigger) const { return triggers_.contains(trigger); }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool one_in(int n) { return below(n) == 0; }
  std::int64_t some_bytes() { return static_cast<std::int64_t>(1 + below(one_in(4) ? 20'000'000 : 100'000)); }
  /// Returns the error with which the next call will be refused; CUDA_SUCCESS: it will not be.
  CUresult refuse(const char* trigger);
  /// Checks the result of an allocation, and counts it if it succeeded.
  void allocated(CUresult result, CUresult expected, const Item& item);
  void removed(std::size_t item);
  void context_ended(Context* context);
  bool holds_pool_memory(const Context* context) const;
  CUresult release(const Item& item);
  void choose_context();
  void end_if_unheld(Chunk* chunk);
  CUmemGenericAllocationHandle make_chunk(Chunk& chunk);
  Context& add_context();
  CUstream some_stream();

  std::mt19937_64 random_;
  std::set<std::string> triggers_;
  OwnAccount account_;
  std::vector<Item> items_;
  std::deque<Context> contexts_;
  Context* primary_[2] = {};
  Context* current_ = nullptr;
  std::deque<Pool> pools_;
  Pool* current_pool_[2] = {};
  std::deque<Chunk> chunks_;
  std::vector<Mapped> mapped_;
  std::uint64_t registered_ = 0x3000'0000'0000;
  bool concurrent_ = false;
};
