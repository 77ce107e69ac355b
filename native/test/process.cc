// Programs that are bound to who runs them.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/error.h"
#include "process/run.h"
#include "test/check.h"

using namespace trellis;

TEST("process: a bound program runs like any other, tells why it cannot, and is killed with the thread that ran it") {
  RunRequest request;
  request.bound = true;
  request.argv = {"sh", "-c", "cat; echo $A; ls /proc/self/fd | wc -l; kill -PIPE $$"};
  request.input = {"in "};
  request.environment = {{"A", "b"}};
  const RunResult result = RunProgram(request, NetNs());
  CHECK_EQUAL(result.output, std::string("in b\n4\n"));  // its three pipes, and the folder that ls reads
  CHECK_EQUAL(result.signal, SIGPIPE);
  request.argv = {"/nowhere/at-all"};
  CHECK_THROWS(KernelError, "no program", RunProgram(request, NetNs()));
  CHECK_THROWS(InputError, "cannot be bound", RunProgram(request, NetNs::OpenPid(getpid())));

  int ends[2];
  CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
  const Fd read(ends[0]);
  Fd write(ends[1]);
  const pid_t parent = fork();
  if (parent == 0) {
    RunRequest endless;
    endless.bound = true;
    endless.keep = write.get();
    endless.argv = {"sh", "-c", "echo began >&3; exec sleep 1000"};
    RunProgram(endless, NetNs());
    _exit(0);
  }
  write.Close();
  char text[16];
  CHECK_EQUAL(::read(read.get(), text, sizeof text), 6);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  CHECK_EQUAL(::read(read.get(), text, sizeof text), 0);  // nobody is left who could write
}
