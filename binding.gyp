{
  "variables": {
    # The one list of the core's sources; the sanitizer, fuzz and unit-test builds read it too.
    "core_sources": ["<!@(node scripts/lib/sources.mjs core)"],
    "cni_sources": ["<!@(node scripts/lib/sources.mjs cni)"],
  },
  "target_defaults": {
    "cflags": ["-Wall", "-Wextra", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"],
    "cflags_cc": ["-std=c++20"],
    "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20", "-fno-rtti"],
    "include_dirs": ["native"],
  },
  "targets": [
    {
      "target_name": "core",
      "type": "static_library",
      "standalone_static_library": 1,
      "cflags": ["-fPIC"],
      "sources": ["<@(core_sources)"],
    },
    {
      "target_name": "trellis",
      "dependencies": ["core", "<!(node -p \"require('node-addon-api').targets\"):node_addon_api_except"],
      "sources": ["native/addon/addon.cc"],
      "ldflags": ["-Wl,--gc-sections"],
    },
    {
      # The CNI plugins: one static executable that needs nothing of the host it is copied to.
      "target_name": "trellis-cni",
      "type": "executable",
      "dependencies": ["core"],
      "include_dirs": ["cni-plugins"],
      "sources": ["<@(cni_sources)"],
      "ldflags": ["-static", "-Wl,--gc-sections", "-s"],
    },
    {
      # What a pod's sandbox runs: static, since its image holds nothing else.
      "target_name": "pause",
      "type": "executable",
      "sources": ["native/pause/pause.cc"],
      "cflags_cc": ["-Os", "-fno-exceptions", "-fno-asynchronous-unwind-tables"],
      "ldflags": ["-static", "-Wl,--gc-sections", "-s"],
    },
    {
      # Runs the agent of one of several nodes on this machine.
      "target_name": "trellis-node",
      "type": "executable",
      "dependencies": ["core"],
      "sources": ["native/node/node.cc"],
      "ldflags": ["-static", "-Wl,--gc-sections", "-s"],
    },
  ],
}
