{
  "variables": {
    # The one list of the core's sources, a unit a folder; the sanitizer, fuzz and unit-test builds read it too.
    "core_units": ["<!@(node scripts/lib/sources.mjs coreUnits)"],
    "cni_units": ["<!@(node scripts/lib/sources.mjs cniLibraryUnits)"],
    # What root runs is hardened; test/unit/native/hardening.test.ts reads it from the binaries.
    "hardening": ["-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"],
    "hardening_ld": ["-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack"],
  },
  "target_defaults": {
    "cflags": ["-Wall", "-Wextra", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-pipe", "<@(hardening)"],
    "cflags_cc": ["-std=c++20"],
    "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20", "-fno-rtti"],
    "ldflags": ["-Wl,--gc-sections", "<@(hardening_ld)"],
    "include_dirs": ["native"],
    "conditions": [
      ["target_arch=='x64'", {"cflags": ["-fcf-protection=full"]}],
      ["target_arch=='arm64'", {"cflags": ["-mbranch-protection=standard"]}],
    ],
  },
  "targets": [
    {
      "target_name": "core",
      "type": "static_library",
      "standalone_static_library": 1,
      "cflags": ["-fPIC"],
      "sources": ["<@(core_units)"],
    },
    {
      "target_name": "trellis",
      "dependencies": ["core", "<!(node -p \"require('node-addon-api').targets\"):node_addon_api_except"],
      # A worker thread that ends with a call in flight can be told nothing: that is no reason to abort the process.
      "defines": ["NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "sources": ["native/addon/addon.cc"],
    },
    {
      "target_name": "cni",
      "type": "static_library",
      "include_dirs": ["cni-plugins"],
      "sources": ["<@(cni_units)"],
    },
    {
      # The CNI plugins: one static executable that needs nothing of the host it is copied to.
      "target_name": "trellis-cni",
      "type": "executable",
      "dependencies": ["cni", "core"],
      "include_dirs": ["cni-plugins"],
      "sources": ["cni-plugins/main.cc"],
      "ldflags": ["-static-pie", "-s"],
    },
    {
      # The same for tests, which can end it at its fault points.
      "target_name": "trellis-cni-faults",
      "type": "executable",
      "dependencies": ["cni", "core"],
      "include_dirs": ["cni-plugins"],
      "sources": ["cni-plugins/main.cc", "native/test/faults/fault.cc"],
      "ldflags": ["-static-pie", "-s"],
    },
    {
      # What a pod's sandbox runs: static, since its image holds nothing else.
      "target_name": "pause",
      "type": "executable",
      "sources": ["native/pause/pause.cc"],
      "cflags_cc": ["-Os", "-fno-exceptions", "-fno-asynchronous-unwind-tables"],
      "ldflags": ["-static-pie", "-s"],
    },
    {
      # Runs the agent of one of several nodes on this machine.
      "target_name": "trellis-node",
      "type": "executable",
      "dependencies": ["core"],
      "sources": ["native/node/node.cc"],
      "ldflags": ["-static-pie", "-s"],
    },
  ],
}
