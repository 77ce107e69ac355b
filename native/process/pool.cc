#include "process/pool.h"

#include <sys/eventfd.h>

#include <system_error>

#include "base/error.h"

namespace trellis {

Pool::Pool(size_t most) : most_(most), stopFd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stopFd_) ThrowErrno("make an event descriptor");
}

void Pool::Add(Task task) {
  Threads ended;
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    return task({&stopping_, stopFd_.get()}, true);
  }
  waiting_.push_back(std::move(task));
  if (threads_.size() < most_) Begin();
  ended.swap(ended_);
  lock.unlock();
  for (auto& thread : ended) thread.join();
}

void Pool::Begin() {
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Work(self); });
  } catch (const std::system_error&) {
    threads_.erase(self);
    if (!threads_.empty()) return;  // one of them comes to it
    waiting_.pop_back();
    throw;
  }
}

void Pool::Close() {
  std::deque<Task> dropped;
  Threads threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
  }
  eventfd_write(stopFd_.get(), 1);
  {
    std::unique_lock lock(mutex_);
    allEnded_.wait(lock, [this] { return threads_.empty(); });
    threads.swap(ended_);
  }
  for (auto& thread : threads) thread.join();
  for (auto& task : dropped) task({&stopping_, stopFd_.get()}, true);
}

void Pool::Work(Threads::iterator self) {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task({&stopping_, stopFd_.get()}, false);
    task = nullptr;
    lock.lock();
  }
  ended_.splice(ended_.end(), threads_, self);
  if (threads_.empty()) allEnded_.notify_all();
}

}  // namespace trellis
