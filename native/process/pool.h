// Threads of our own for work that may take long, so that it does not hold up what Node itself does on libuv's few.
// Guarantees: at most so many threads, none of them while there is nothing to do; the destructor tells running work to stop,
// drops what has not begun, and returns when no thread is left.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "base/fd.h"

namespace trellis {

class Pool {
 public:
  // A task looks at these while it works: a flag, and a descriptor that becomes readable with it.
  struct Stop {
    const std::atomic<bool>* flag;
    int fd;
  };
  // Run with `dropped` set, it must do no more than free what it holds.
  using Task = std::function<void(const Stop& stop, bool dropped)>;

  explicit Pool(size_t most);
  ~Pool() { Close(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Throws std::system_error, with the task not taken, when no thread can be made and none is at work.
  void Add(Task task);
  // What the destructor does, sooner. What is added later is dropped.
  void Close();

 private:
  using Threads = std::list<std::thread>;
  void Begin();
  void Work(Threads::iterator self);

  const size_t most_;
  Fd stopFd_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::deque<Task> waiting_;
  std::condition_variable allEnded_;
  Threads threads_, ended_;  // those that ended wait to be joined
};

}  // namespace trellis
