#include "process/run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "process/spawn_bound.h"

namespace trellis {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadSize = 64 * 1024;
constexpr int kPipeSize = 1024 * 1024;

struct Pipe {
  Fd read, write;

  static Pipe Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("make a pipe");
    return {Fd(ends[0]), Fd(ends[1])};
  }
};

// Only our ends: the child's must block, as programs expect.
void MakeNonBlocking(const Fd& fd) { fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

// Writing to a pipe that the child has closed must be an error, not the end of us. Blocks SIGPIPE for this thread alone
// and swallows the one that such a write may have left pending.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    wasPending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec now{};
    if (!wasPending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool wasPending_ = false;
};

// The arguments of posix_spawn that have to be destroyed.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// A group of its own, so that a timeout reaches its children too; signals as a fresh login has them.
void PlanFreshProcess(SpawnPlan& plan) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

std::vector<std::string> Environment(const RunRequest& request) {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text = *line;
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [changed, value] : request.environment) replaced |= changed == name;
    if (!replaced) lines.emplace_back(text);
  }
  for (const auto& [name, value] : request.environment) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void Check(const RunRequest& request) {
  if (request.argv.empty() || request.argv[0].empty()) throw InputError("say which program to run");
  if (request.timeoutMs < 0) throw InputError("a limit of time must not be negative");
  for (const std::string& argument : request.argv)
    if (argument.find('\0') != std::string::npos) throw InputError("an argument must not hold a NUL character");
  for (const auto& [name, value] : request.environment)
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos ||
        value.find('\0') != std::string::npos)
      throw InputError("'" + name + "' cannot be an environment variable");
}

// The child and our ends of its pipes. Kills and reaps what still runs.
class Child {
 public:
  Child(const RunRequest& request, const NetNs& ns, int stop)
      : request_(request), stop_(stop), operation_("run " + request.argv[0]) {
    Pipe in = Pipe::Open(), out = Pipe::Open(), err = Pipe::Open();
    Spawn(ns, {in.read.get(), out.write.get(), err.write.get()});
    input_ = std::move(in.write);
    output_ = std::move(out.read);
    error_ = std::move(err.read);
    for (const Fd* fd : {&input_, &output_, &error_}) MakeNonBlocking(*fd);
    // Fewer turns for large inputs; refused beyond the user's allowance, and then the default has to do.
    fcntl(input_.get(), F_SETPIPE_SZ, kPipeSize);
    ended_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    if (!ended_) {
      const int error = errno;
      Kill();
      throw KernelError(error, operation_, "waiting for it needs Linux 5.3 or newer");
    }
  }
  ~Child() { Kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  RunResult Finish() {
    const auto deadline = Clock::now() + std::chrono::milliseconds(request_.timeoutMs);
    while (!Turn(request_.timeoutMs > 0 ? &deadline : nullptr)) {
    }
    // What it wrote before its end is in the pipes by now.
    Read(output_, result_.output);
    Read(error_, result_.error);
    Reap();
    return std::move(result_);
  }

 private:
  void Spawn(const NetNs& ns, const std::array<int, 3>& ends) {
    SpawnPlan plan;
    PlanFreshProcess(plan);
    std::vector<int> given(ends.begin(), ends.end());
    if (request_.keep >= 0) given.push_back(request_.keep);
    const int count = static_cast<int>(given.size());
    // Above them first: where one of ours is itself 0, 1, 2 or 3, a plain dup2 onto them would overwrite it.
    std::vector<Fd> high;
    for (int i = 0; i < count; ++i) {
      high.emplace_back(fcntl(given[static_cast<size_t>(i)], F_DUPFD_CLOEXEC, count + 1));
      if (!high.back()) ThrowErrno(operation_);
      given[static_cast<size_t>(i)] = high.back().get();
      posix_spawn_file_actions_adddup2(&plan.actions, high.back().get(), i);
    }
    posix_spawn_file_actions_addclosefrom_np(&plan.actions, count);  // whatever a library opened without O_CLOEXEC
    auto arguments = request_.argv;
    auto lines = Environment(request_);
    auto argv = Pointers(arguments);
    auto envp = Pointers(lines);
    int refused = 0;
    // The child is born in the namespace of the thread that spawns it.
    if (request_.bound) refused = SpawnBound(pid_, argv.data(), envp.data(), given);
    else ns.Run([&] { refused = posix_spawnp(&pid_, argv[0], &plan.actions, &plan.attributes, argv.data(), envp.data()); });
    if (refused == 0) return;
    pid_ = -1;
    if (refused == ENOENT)
      throw KernelError(ENOENT, operation_, "there is no program '" + request_.argv[0] + "' (or what its first line names)");
    throw KernelError(refused, operation_);
  }

  // Waits once and moves what can be moved; true when the program has ended.
  bool Turn(const Clock::time_point* deadline) {
    FinishInput();
    std::array<pollfd, 5> waits{{{ended_.get(), POLLIN, 0},
                                 {output_.get(), POLLIN, 0},
                                 {error_.get(), POLLIN, 0},
                                 {input_.get(), POLLOUT, 0},
                                 {stop_, POLLIN, 0}}};
    int limit = -1;
    if (deadline != nullptr) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) Give(ETIMEDOUT, "it was still running after " + std::to_string(request_.timeoutMs) + " ms and was killed");
      limit = static_cast<int>(left);
    }
    if (poll(waits.data(), waits.size(), limit) < 0) {
      if (errno == EINTR) return false;
      ThrowErrno(operation_);
    }
    if (waits[4].revents != 0) Give(ECANCELED, "nobody waits for it any more; it was killed");
    if (waits[3].revents != 0) Write();
    if (waits[1].revents != 0) Read(output_, result_.output);
    if (waits[2].revents != 0) Read(error_, result_.error);
    return waits[0].revents != 0;
  }

  void FinishInput() {
    while (chunk_ < request_.input.size() && offset_ == request_.input[chunk_].size()) ++chunk_, offset_ = 0;
    if (chunk_ == request_.input.size()) input_.Close();
  }

  void Write() {
    const std::string& chunk = request_.input[chunk_];
    const ssize_t size = write(input_.get(), chunk.data() + offset_, chunk.size() - offset_);
    if (size >= 0) offset_ += static_cast<size_t>(size);
    else if (errno == EPIPE) input_.Close();  // it wants no more; its exit status tells whether that is well
    else if (errno != EAGAIN && errno != EINTR) ThrowErrno(operation_);
  }

  // Takes all there is without waiting; closes at the end.
  void Read(Fd& from, std::string& to) {
    while (from) {
      const size_t before = to.size();
      to.resize(before + kReadSize);
      const ssize_t size = read(from.get(), to.data() + before, kReadSize);
      const int error = errno;
      to.resize(before + (size > 0 ? static_cast<size_t>(size) : 0));
      if (result_.output.size() + result_.error.size() > request_.maxOutput)
        Give(ENOBUFS, "it wrote more than " + std::to_string(request_.maxOutput) + " bytes and was killed");
      if (size == 0) from.Close();
      if (size > 0 || (size < 0 && error == EINTR)) continue;
      if (size < 0 && error != EAGAIN) throw KernelError(error, operation_);
      return;
    }
  }

  [[noreturn]] void Give(int error, const std::string& text) { throw KernelError(error, operation_, text); }

  // The group first, while its leader (perhaps a zombie) still keeps the number from being given to another.
  void Kill() {
    if (pid_ < 0) return;
    kill(-pid_, SIGKILL);
    Reap();
  }

  void Reap() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (WIFEXITED(status)) result_.status = WEXITSTATUS(status);
    else if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  }

  const RunRequest& request_;
  const int stop_;
  std::string operation_;
  pid_t pid_ = -1;
  Fd input_, output_, error_, ended_;
  size_t chunk_ = 0, offset_ = 0;
  RunResult result_;
};

}  // namespace

RunResult RunProgram(const RunRequest& request, const NetNs& ns, int stop) {
  Check(request);
  if (request.bound && !ns.IsCurrent())
    throw InputError("a program in another namespace is started by a thread that ends, and cannot be bound to it");
  const WithoutSigpipe quiet;
  return Child(request, ns, stop).Finish();
}

}  // namespace trellis
