// The first process of a pod's sandbox: holds its namespaces open and reaps what is orphaned into them.
// Guarantees: ends on TERM and INT with code 0, at once; no child stays a zombie.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace {

void ReapAll() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

int main() {
  // Blocked and waited for instead of handled: process 1 of a namespace is not killed by a signal it has no handler for,
  // and one that comes before sigwaitinfo is kept for it.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, signal);
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) return 1;
  for (;;) {
    ReapAll();  // also what ended before the signals were blocked
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal == SIGTERM || signal == SIGINT) return 0;
  }
}
