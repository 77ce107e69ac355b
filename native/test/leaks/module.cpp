// A module for Node that looks for leaks while Node lives: vitest ends its workers by a signal, so no exit handler runs.
// Guarantees: reports go where ASAN_OPTIONS log_path says; the process goes on.
#include <napi.h>
#include <sanitizer/lsan_interface.h>

static Napi::Value Check(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), __lsan_do_recoverable_leak_check() != 0);
}

static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("check", Napi::Function::New(env, Check, "check"));
  return exports;
}

NODE_API_MODULE(leaks, Init)
