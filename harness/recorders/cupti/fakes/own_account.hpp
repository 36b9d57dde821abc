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

#include "recorders/cupti/fakes/fake_driver.h"

// What a random program knows of its own memory, by the documentation of cuda.h; no code of the recorder or
// of the ledger is in here.

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
  int references = 0;        ///< 0: it is not there
  int greens = 0;            ///< of a primary context: references that green contexts have
  Context* owner = nullptr;  ///< of the memory that is made in it
};

struct Pool {
  CUmemoryPool handle = nullptr;
  int device = 0;
  bool counts = true;  ///< it is of device memory
  bool is_default = false;
  bool destroyed = false;
};

/// An allocation that ends by one call.
struct Item {
  enum class How { free, host, registered, array, mipmapped };
  How how = How::free;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;  ///< that count
  int device = 0;
  Context* owner = nullptr;    ///< ends with it; null: memory of a pool
  Context* made_in = nullptr;  ///< was current
  Pool* pool = nullptr;
};

/// Memory of cuMemCreate.
struct Chunk {
  std::int64_t bytes = 0;
  bool counts = true;
  int device = 0;
  int mappings = 0;
  std::vector<CUmemGenericAllocationHandle> handles;  ///< a place a reference
};
struct Mapped {
  CUdeviceptr address = 0;
  std::size_t parts = 0;  ///< mappings beside each other, of one size
  std::size_t bytes = 0;  ///< of all
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

/// A program made of a seed. What it does that a recorder may get wrong has a name each, by which it is left
/// out.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::set<std::string> triggers);
  ~RandomProgram();
  void run(int steps);
  [[nodiscard]] const OwnAccount& account() const { return account_; }

  struct Action {
    const char* trigger;  ///< empty: of every program
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
  // random_pools.cpp
  void allocate_async();
  void allocate_from_pool();
  void allocate_from_host_pool();
  void create_pool();
  void destroy_pool();
  void trim_pool();
  void capture();
  void build_graph();
  void import_memory();
  // random_contexts.cpp
  void create_context();
  void destroy_context();
  void detach_context();
  void retain_primary();
  void release_primary();
  void reset_primary();
  void green_context();
  void fork_child();
  void be_concurrent();
  // random_physical.cpp
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
  /// True: the next call will be refused, whatever it is.
  CUresult refuse(const char* trigger);
  /// Of an allocation: the account has it when it succeeded.
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
