#pragma once

#include <pthread.h>

namespace peakmark {

/// Holds a pthread mutex: recorders must not throw, and a forked child must be able to unlock it.
class MutexLock {
 public:
  explicit MutexLock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

/// Makes every later fork hold the mutex, so that no child inherits it locked by a thread that does not exist
/// in the child. Call it once.
template <pthread_mutex_t& mutex>
void hold_over_forks() {
  const auto unlock = [] { pthread_mutex_unlock(&mutex); };
  pthread_atfork([] { pthread_mutex_lock(&mutex); }, unlock, unlock);
}

}  // namespace peakmark
