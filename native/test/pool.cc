// Threads of our own, with many who add to them at once and an end in the middle of the work.
#include "process/pool.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "test/check.h"

using namespace trellis;

TEST("pool: does everything it is given, by whoever, and never more at once than it may") {
  constexpr int kTasks = 500;
  std::atomic<int> done = 0, now = 0, most = 0;
  {
    Pool pool(3);
    std::vector<std::thread> givers;
    for (int giver = 0; giver < 4; ++giver)
      givers.emplace_back([&] {
        for (int i = 0; i < kTasks; ++i)
          pool.Add([&, held = std::make_shared<int>(i)](const Pool::Stop&, bool dropped) {
            const int running = ++now;
            for (int seen = most; running > seen && !most.compare_exchange_weak(seen, running);) {
            }
            if (!dropped) done += *held >= 0;
            --now;
          });
      });
    for (auto& giver : givers) giver.join();
    while (done < 4 * kTasks) std::this_thread::yield();
  }
  CHECK_EQUAL(done.load(), 4 * kTasks);
  CHECK(most <= 3);
}

TEST("pool: its end stops what runs, drops what waits and what comes later, and frees all of it") {
  std::atomic<int> stopped = 0, dropped = 0;
  const auto held = std::make_shared<int>(0);
  std::atomic<bool> began = false;
  Pool pool(2);
  const auto task = [&, held](const Pool::Stop& stop, bool isDropped) {
    if (isDropped) return void(++dropped);
    began = true;
    pollfd told{stop.fd, POLLIN, 0};
    poll(&told, 1, -1);
    stopped += *stop.flag;
  };
  for (int i = 0; i < 20; ++i) pool.Add(task);
  while (!began) std::this_thread::yield();
  std::thread late([&] {
    for (int i = 0; i < 20; ++i) pool.Add(task);
  });
  pool.Close();
  late.join();
  pool.Close();
  CHECK_EQUAL(stopped + dropped, 40);
  CHECK(stopped >= 1 && stopped <= 2);
  CHECK_EQUAL(held.use_count(), 2);  // ours, and the one in `task`
}

TEST("pool: says that no thread can be made, and ends all the same") {
  test::NeedRoot();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // instead of an end that never comes
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || setuid(65534) != 0) _exit(2);
    Pool pool(1);
    try {
      pool.Add([](const Pool::Stop&, bool) {});
      _exit(3);
    } catch (const std::system_error&) {
      pool.Close();
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK_EQUAL(status, 0);
}
