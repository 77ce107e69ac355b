#include "process/spawn_bound.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace trellis {

namespace {

// Signals as a fresh login has them. Those that cannot be changed refuse, and that is well.
void ResetSignals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Returns only when it fails, with errno.
void Become(char* const* argv, char* const* envp, const std::vector<int>& ends) {
  for (int i = 0; i < static_cast<int>(ends.size()); ++i)
    if (dup2(ends[static_cast<size_t>(i)], i) < 0) return;
  closefrom(static_cast<int>(ends.size()) + 1);
  if (setpgid(0, 0) != 0) return;
  ResetSignals();
  execvpe(argv[0], argv, envp);
}

// The child's part. Its descriptor after the program's own tells the parent why there is no program, and is closed by exec.
[[noreturn]] void BeChild(pid_t parent, char* const* argv, char* const* envp, const std::vector<int>& ends, int report) {
  const int why = dup3(report, static_cast<int>(ends.size()), O_CLOEXEC);
  // A parent that went before the call is noticed after it: the child has another by then.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) Become(argv, envp, ends);
  const int error = errno;
  (void)!write(why, &error, sizeof error);
  _exit(127);
}

}  // namespace

int SpawnBound(pid_t& pid, char* const* argv, char* const* envp, const std::vector<int>& ends) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) return errno;
  const Fd told(pipe[0]);
  Fd low(pipe[1]), report(fcntl(pipe[1], F_DUPFD_CLOEXEC, static_cast<int>(ends.size()) + 1));
  if (!report) return errno;
  const pid_t parent = getpid();
  pid = fork();
  if (pid < 0) return errno;
  if (pid == 0) BeChild(parent, argv, envp, ends, report.get());
  low.Close();
  report.Close();
  int error = 0;
  ssize_t size = -1;
  while ((size = read(told.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (size != sizeof error) return 0;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return error;
}

}  // namespace trellis
