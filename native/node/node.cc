// Runs a program as the only one of a machine of its own: a node of a cluster, beside others on the same host.
//
//   trellis-node --netns FILE --hostname NAME [--group DIR]... [--hide DIR]... [--bind FROM TO]... -- program [word]...
//
// The program finds the network of FILE, mounts, host name, IPC objects and process numbers of its own, an empty /run,
// and a /sys and /proc that show them. It and all that it starts are in the control groups DIR.
// Guarantees: whoever started it, this program, the node's process 1 and everything in the node end together, in that
// order, however the first of them ended; when this program has returned, nothing runs there any more. TERM and INT are
// passed on to the program, and its exit code is ours. The host's own mounts are left as they are.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace {

namespace fs = std::filesystem;
using trellis::Fd;
using trellis::InputError;
using trellis::ThrowErrno;

struct Options {
  std::string netns;
  std::string hostname;
  std::vector<std::string> groups;
  std::vector<std::string> hidden = {"/run"};
  std::vector<std::pair<std::string, std::string>> binds;
  char** program = nullptr;
};

Options Read(char** words) {
  Options options;
  const auto next = [&words] {
    if (*words == nullptr) throw InputError("an option lacks its value");
    return std::string(*words++);
  };
  while (options.program == nullptr) {
    const std::string word = next();
    if (word == "--netns") options.netns = next();
    else if (word == "--hostname") options.hostname = next();
    else if (word == "--group") options.groups.push_back(next());
    else if (word == "--hide") options.hidden.push_back(next());
    else if (word == "--bind") {
      const std::string from = next();
      options.binds.emplace_back(from, next());
    } else if (word == "--") options.program = words;
    else throw InputError("unknown option " + word);
  }
  if (*options.program == nullptr) throw InputError("no program is named");
  return options;
}

// ---- the machine ----------------------------------------------------------------------------------------------------

void Mount(const char* source, const std::string& target, const char* type, unsigned long flags, const char* data = nullptr) {
  if (mount(source, target.c_str(), type, flags, data) != 0) ThrowErrno("mount " + target);
}

void Join(const std::string& group) {
  std::ofstream file(group + "/cgroup.procs");
  if (!(file << "0" << std::flush)) ThrowErrno("join the control group " + group);
}

void Enter(const std::string& netns) {
  const Fd file(open(netns.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || setns(file.get(), CLONE_NEWNET) != 0) ThrowErrno("enter the network of " + netns);
}

// The kernel writes spaces and the like in octal.
std::string Unescape(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool IsBelow(const std::string& path, const std::string& directory) { return path.starts_with(directory + "/"); }

// A new mount namespace is a copy: what it holds of pods of the host would stay alive for as long as the node does.
void Detach(const std::vector<std::string>& directories) {
  std::vector<std::string> points;
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    points.push_back(Unescape(field));
  }
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    for (const auto& directory : directories)
      if (IsBelow(*point, directory)) umount2(point->c_str(), MNT_DETACH);  // one below another may have gone with it
}

// Shows the node's own devices; the control groups are the host's.
void MountSys() {
  const std::string aside = "/run/cgroup";
  fs::create_directory(aside);
  Mount("/sys/fs/cgroup", aside, nullptr, MS_BIND | MS_REC);
  Mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  Mount(aside.c_str(), "/sys/fs/cgroup", nullptr, MS_MOVE);
  fs::remove(aside);
}

// Where a path leads, also when nothing is there, as where a link points into the host's /run.
fs::path Follow(fs::path path) {
  for (int links = 0; links < 8 && fs::is_symlink(path); ++links) path = path.parent_path() / fs::read_symlink(path);
  return path.lexically_normal();
}

void Bind(const std::string& from, const std::string& to) {
  const fs::path target = Follow(to);
  if (!fs::exists(target)) {
    fs::create_directories(target.parent_path());
    std::ofstream(target).flush();
  }
  Mount(from.c_str(), target, nullptr, MS_BIND);
}

void MakeMachine(const Options& options) {
  // What the host unmounts goes away here too; what is mounted here stays here.
  Mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE);
  Detach(options.hidden);
  Mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755");
  MountSys();
  Mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  for (const auto& [from, to] : options.binds) Bind(from, to);
  if (sethostname(options.hostname.data(), options.hostname.size()) != 0) ThrowErrno("set the host name");
  // Volumes that pods mount for others must reach them.
  Mount(nullptr, "/", nullptr, MS_REC | MS_SHARED);
}

// ---- the processes --------------------------------------------------------------------------------------------------

sigset_t Awaited() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, signal);
  return signals;
}

pid_t Fork() {
  const pid_t pid = fork();
  if (pid < 0) ThrowErrno("fork");
  return pid;
}

// Reaps whatever ends and passes signals on until `child` has ended; its exit code, or 128 and the signal's number.
int Await(pid_t child) {
  const sigset_t signals = Awaited();
  for (;;) {
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal == SIGTERM || signal == SIGINT) kill(child, signal);
  }
}

void DieWithParent() {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) ThrowErrno("ask for a signal at the parent's end");
}

[[noreturn]] void Execute(char** program, const sigset_t& mask) {
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(program[0], program);
  ThrowErrno(std::string("run ") + program[0]);
}

// The node's process 1: when it ends, the kernel ends all others.
int RunFirst(const Options& options, const Fd& outside, const sigset_t& mask) {
  DieWithParent();
  pollfd parent{outside.get(), 0, 0};
  if (poll(&parent, 1, 0) != 0) return 1;  // it was gone before we asked
  MakeMachine(options);
  const pid_t pid = Fork();
  if (pid == 0) Execute(options.program, mask);
  return Await(pid);
}

int Run(const Options& options) {
  // Blocked and waited for instead of handled: process 1 gets no signal that it has no handler for.
  const sigset_t signals = Awaited();
  sigset_t mask;
  if (sigprocmask(SIG_BLOCK, &signals, &mask) != 0) ThrowErrno("block signals");
  DieWithParent();
  for (const auto& group : options.groups) Join(group);
  Enter(options.netns);
  if (unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID) != 0) ThrowErrno("make namespaces");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("make a pipe");
  Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t first = Fork();
  if (first != 0) return Await(first);
  writing.Close();
  return RunFirst(options, reading, mask);
}

}  // namespace

int main(int, char** argv) {
  try {
    return Run(Read(argv + 1));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "trellis-node: %s\n", error.what());
    return 1;
  }
}
