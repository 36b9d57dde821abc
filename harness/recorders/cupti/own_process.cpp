#include "recorders/cupti/own_process.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace peakmark {
namespace {

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

volatile int* page_emptied_by_fork() {
  void* const page = mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, page_bytes(), MADV_WIPEONFORK) == 0) return static_cast<volatile int*>(page);
  munmap(page, page_bytes());
  return nullptr;
}

}  // namespace

OwnProcess::OwnProcess() : pid_(getpid()), mark_(page_emptied_by_fork()) {
  if (mark_ != nullptr) *mark_ = 1;
}

OwnProcess::~OwnProcess() {
  if (mark_ != nullptr) munmap(const_cast<int*>(mark_), page_bytes());
}

bool OwnProcess::is_here() const {
  return mark_ != nullptr ? *mark_ == 1 : getpid() == pid_;
}

}  // namespace peakmark
