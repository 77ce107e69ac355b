// The CNI plugins in one executable; the name it is run by (a link for each) says which plugin is meant.
// Guarantees: standard output holds the result or the error of a CNI command and nothing else.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bridge/bridge.h"
#include "host-local/ipam.h"
#include "loopback/loopback.h"
#include "portmap/portmap.h"
#include "vxlan/vxlan.h"

namespace {

using trellis::cni::Plugin;

constexpr const Plugin* kPlugins[] = {&trellis::cni::kBridge, &trellis::cni::kHostLocal, &trellis::cni::kLoopback,
                                      &trellis::cni::kPortmap, &trellis::cni::kVxlan};

const Plugin* Find(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  // Known by flannel's name too, but not listed: installing must not overwrite flannel's own executable.
  if (strcmp(name, "flannel") == 0) return &trellis::cni::kVxlan;
  for (const Plugin* plugin : kPlugins)
    if (strcmp(plugin->name, name) == 0) return plugin;
  return nullptr;
}

int Explain(FILE* to, int code) {
  fputs(
      "trellis-cni: the CNI plugins of Trellis, specification 0.1.0 to 1.1.0. A container runtime runs them; see "
      "https://www.cni.dev/docs/spec/.\n",
      to);
  fputs("Run through a link named after the plugin, or with its name as the first argument:\n", to);
  for (const Plugin* plugin : kPlugins) fprintf(to, "  %-12s %s\n", plugin->name, plugin->about);
  return code;
}

int List() {
  for (const Plugin* plugin : kPlugins) puts(plugin->name);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Plugin* plugin = Find(argv[0]);
  if (plugin == nullptr && argc > 1 && strcmp(argv[1], "--list") == 0) return List();
  if (plugin == nullptr && argc > 1) plugin = Find(argv[1]);
  if (plugin == nullptr) return Explain(stderr, 2);
  if (getenv("CNI_COMMAND") == nullptr && isatty(STDIN_FILENO)) return Explain(stdout, 0);
  return trellis::cni::RunPlugin(*plugin);
}
