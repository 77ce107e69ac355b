// A module for Node that looks for leaks while Node lives: vitest ends its workers by a signal, so no exit handler runs.
// Guarantees: reports go where ASAN_OPTIONS log_path says; the process goes on; a leak of its own shows that it works.
#include <napi.h>
#include <sanitizer/lsan_interface.h>

// scripts/sanitize.mjs fails unless it sees these: a checker that finds nothing must not pass for a program without leaks.
__attribute__((noinline)) static void LeakOnPurpose() {
  for (int i = 0; i < 8; ++i) {
    auto* volatile lost = new char[16];
    lost = nullptr;
  }
}

static Napi::Value Check(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), __lsan_do_recoverable_leak_check() != 0);
}

static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  LeakOnPurpose();
  exports.Set("check", Napi::Function::New(env, Check, "check"));
  return exports;
}

NODE_API_MODULE(leaks, Init)
