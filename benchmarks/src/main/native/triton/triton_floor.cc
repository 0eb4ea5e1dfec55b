// The Triton core in this process, with no-op models, fed by one caller thread. Linked against nothing of Triton:
// main.cc loads the core first, then this library.
//
//   triton_floor CORE REPOSITORY BACKENDS MODELS BATCHING REQUESTS
//
// Writes MODELS models into the folder REPOSITORY (BATCHING: `dynamic` or `none`), or with MODELS `ensemble` one that
// calls three, one after the other; starts the core on them and prints
// `ready start_us=... rss_kb=... threads=...`. REQUESTS says whether request objects are made for each call (`fresh`,
// as Triton's front ends do) or taken again once released (`reused`). Then, per line `DEPTH MILLIS SPIN_US` on standard input, keeps DEPTH
// requests outstanding for MILLIS, round robin over the models, checks every answer, and prints
// `requests=... wall_ns=... cpu_ns=... p50_ns=... p99_ns=...`: CPU is that of the whole process, latencies are 0
// unless DEPTH is 1. The caller looks for answers for SPIN_US before it sleeps. The line `memory` is answered with `rss_kb=... threads=...`. Ends when standard input closes.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "triton_api.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kInputBytes = 4096;
constexpr uint32_t kMostOutstanding = 1024;
constexpr uint32_t kRingSize = 2 * kMostOutstanding;  // never full: a slot is in it once

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "triton_floor: %s\n", what.c_str());
  std::_Exit(1);
}

void Check(const char* call, TRITONSERVER_Error* error) {
  if (error != nullptr) Fail(std::string(call) + ": " + TRITONSERVER_ErrorMessage(error));
}
#define CHECK(name, ...) Check(#name, name(__VA_ARGS__))

int64_t Nanos(Clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

int64_t CpuNanos() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto nanos = [](const timeval& time) { return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1'000LL; };
  return nanos(usage.ru_utime) + nanos(usage.ru_stime);
}

std::string Memory() {
  std::ifstream status("/proc/self/status");
  std::string line, rss, threads;
  while (std::getline(status, line)) {
    std::istringstream fields(line);
    std::string key, value;
    fields >> key >> value;
    if (key == "VmRSS:") rss = value;
    if (key == "Threads:") threads = value;
  }
  return "rss_kb=" + rss + " threads=" + threads;
}

// Slots whose request is over, from the core's threads to the caller's.
class Completions {
 public:
  void Put(uint32_t slot) {
    const uint64_t at = tail_.fetch_add(1);
    ring_[at % kRingSize].store(slot + 1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst)) {
      std::lock_guard<std::mutex> lock(mutex_);
      wake_.notify_one();
    }
  }

  bool TryTake(uint32_t* slot) {
    std::atomic<uint32_t>& cell = ring_[head_ % kRingSize];
    const uint32_t taken = cell.load(std::memory_order_seq_cst);
    if (taken == 0) return false;
    cell.store(0, std::memory_order_relaxed);
    head_++;
    *slot = taken - 1;
    return true;
  }

  uint32_t Take(Clock::duration spin) {
    uint32_t slot;
    if (TryTake(&slot)) return slot;
    const auto end = Clock::now() + spin;
    do {
      __builtin_ia32_pause();
      if (TryTake(&slot)) return slot;
    } while (Clock::now() < end);
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_.store(true, std::memory_order_seq_cst);
    while (!TryTake(&slot)) wake_.wait(lock);
    waiting_.store(false, std::memory_order_relaxed);
    return slot;
  }

 private:
  std::atomic<uint32_t> ring_[kRingSize] = {};
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) uint64_t head_ = 0;
  std::atomic<bool> waiting_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

struct Slot {
  uint32_t index;
  uint32_t expected;
  uint32_t answer;
  std::atomic<int> events_left;  // until the slot is the caller's again
  size_t model;
  TRITONSERVER_InferenceRequest* request;
  Clock::time_point sent;
  alignas(64) char input[kInputBytes];
};

class Caller {
 public:
  Caller(TRITONSERVER_Server* server, int models, bool reuse_requests)
      : server_(server), reuse_requests_(reuse_requests), slots_(kMostOutstanding) {
    for (int i = 0; i < models; i++) models_.push_back({"m" + std::to_string(i), {}});
    for (uint32_t i = 0; i < kMostOutstanding; i++) {
      slots_[i].index = i;
      owners_[i] = {this, &slots_[i]};
      std::memset(slots_[i].input, 1, kInputBytes);
    }
    CHECK(TRITONSERVER_ResponseAllocatorNew, &allocator_, &Caller::Allocate, &Caller::Release, nullptr);
  }

  std::string Run(uint32_t depth, int millis, Clock::duration spin) {
    std::vector<int64_t> latencies;
    uint64_t requests = 0;
    const int64_t cpu = CpuNanos();
    const auto start = Clock::now();
    const auto end = start + std::chrono::milliseconds(millis);
    uint32_t outstanding = 0;
    for (; outstanding < depth; outstanding++) Submit(&slots_[outstanding]);
    auto now = start;
    while (outstanding > 0) {
      Slot& slot = slots_[completions_.Take(spin)];
      if (slot.answer != slot.expected) {
        Fail("answer " + std::to_string(slot.answer) + " to " + std::to_string(slot.expected));
      }
      if (reuse_requests_) models_[slot.model].spare.push_back(slot.request);
      requests++;
      if (depth == 1) {
        now = Clock::now();
        latencies.push_back(Nanos(now - slot.sent));
      } else if (requests % 64 == 0) {
        now = Clock::now();
      }
      if (now < end) {
        Submit(&slot);
      } else {
        outstanding--;
      }
    }
    const int64_t wall = Nanos(Clock::now() - start);
    std::sort(latencies.begin(), latencies.end());
    auto quantile = [&](double q) { return latencies.empty() ? 0 : latencies[size_t(q * (latencies.size() - 1))]; };
    std::ostringstream line;
    line << "requests=" << requests << " wall_ns=" << wall << " cpu_ns=" << CpuNanos() - cpu
         << " p50_ns=" << quantile(0.5) << " p99_ns=" << quantile(0.99);
    return line.str();
  }

 private:
  void Submit(Slot* slot) {
    slot->expected = ++sequence_;
    slot->answer = 0;
    std::memcpy(slot->input, &slot->expected, sizeof(slot->expected));
    slot->model = next_model_;
    if (++next_model_ == models_.size()) next_model_ = 0;
    slot->sent = Clock::now();
    // A request object may be used again only after its release, which may come before or after the response.
    slot->events_left.store(reuse_requests_ ? 2 : 1, std::memory_order_relaxed);
    TRITONSERVER_InferenceRequest* request = Request(slot);
    slot->request = request;
    CHECK(TRITONSERVER_InferenceRequestAppendInputData, request, "x", slot->input, kInputBytes,
          TRITONSERVER_MEMORY_CPU, 0);
    Owner* owner = &owners_[slot->index];
    CHECK(TRITONSERVER_InferenceRequestSetReleaseCallback, request, &Caller::Released, owner);
    CHECK(TRITONSERVER_InferenceRequestSetResponseCallback, request, allocator_, slot, &Caller::Responded, owner);
    CHECK(TRITONSERVER_ServerInferAsync, server_, request, nullptr);
  }

  // A request to the slot's model, without data.
  TRITONSERVER_InferenceRequest* Request(Slot* slot) {
    Model& model = models_[slot->model];
    TRITONSERVER_InferenceRequest* request;
    if (!model.spare.empty()) {
      request = model.spare.back();
      model.spare.pop_back();
      CHECK(TRITONSERVER_InferenceRequestRemoveAllInputData, request, "x");
      return request;
    }
    const int64_t shape[] = {1, kInputBytes / 4};
    CHECK(TRITONSERVER_InferenceRequestNew, &request, server_, model.name.c_str(), -1);
    CHECK(TRITONSERVER_InferenceRequestAddInput, request, "x", TRITONSERVER_TYPE_FP32, shape, 2);
    return request;
  }

  static TRITONSERVER_Error* Allocate(TRITONSERVER_ResponseAllocator*, const char*, size_t bytes,
                                      TRITONSERVER_MemoryType, int64_t, void* userp, void** buffer,
                                      void** buffer_userp, TRITONSERVER_MemoryType* actual, int64_t* actual_id) {
    if (bytes != sizeof(Slot::answer)) Fail("an output of " + std::to_string(bytes) + " bytes");
    *buffer = &static_cast<Slot*>(userp)->answer;
    *buffer_userp = nullptr;
    *actual = TRITONSERVER_MEMORY_CPU;
    *actual_id = 0;
    return nullptr;
  }

  static TRITONSERVER_Error* Release(TRITONSERVER_ResponseAllocator*, void*, void*, size_t, TRITONSERVER_MemoryType,
                                     int64_t) {
    return nullptr;
  }

  struct Owner {
    Caller* caller;
    Slot* slot;

    void OnEvent() {
      if (slot->events_left.fetch_sub(1) == 1) caller->completions_.Put(slot->index);
    }
  };

  struct Model {
    std::string name;
    std::vector<TRITONSERVER_InferenceRequest*> spare;
  };

  static void Released(TRITONSERVER_InferenceRequest* request, uint32_t, void* userp) {
    auto* owner = static_cast<Owner*>(userp);
    if (owner->caller->reuse_requests_) {
      owner->OnEvent();
    } else {
      CHECK(TRITONSERVER_InferenceRequestDelete, request);
    }
  }

  static void Responded(TRITONSERVER_InferenceResponse* response, uint32_t, void* userp) {
    if (response == nullptr) Fail("a response without content");
    CHECK(TRITONSERVER_InferenceResponseError, response);
    CHECK(TRITONSERVER_InferenceResponseDelete, response);
    static_cast<Owner*>(userp)->OnEvent();
  }

  TRITONSERVER_Server* const server_;
  TRITONSERVER_ResponseAllocator* allocator_ = nullptr;
  const bool reuse_requests_;
  Completions completions_;
  std::vector<Model> models_;
  std::vector<Slot> slots_;
  Owner owners_[kMostOutstanding] = {};
  size_t next_model_ = 0;
  uint32_t sequence_ = 0;
};

std::string Tensors(size_t inputs) {
  return "max_batch_size: 32\ninput { name: \"x\" data_type: TYPE_FP32 dims: " + std::to_string(inputs) +
         " }\noutput { name: \"y\" data_type: TYPE_FP32 dims: 1 }\n";
}

void WriteModel(const std::filesystem::path& repository, const std::string& name, const std::string& rest) {
  std::filesystem::create_directories(repository / name / "1");
  std::ofstream(repository / name / "config.pbtxt") << "name: \"" << name << "\"\n" << rest;
}

std::string NoOp(size_t inputs, bool dynamic_batching) {
  return Tensors(inputs) + "backend: \"noop\"\ninstance_group { count: 1 kind: KIND_CPU }\n" +
         (dynamic_batching ? "dynamic_batching { }\n" : "");
}

void WriteModels(const std::filesystem::path& repository, int models, bool dynamic_batching) {
  for (int i = 0; i < models; i++) {
    WriteModel(repository, "m" + std::to_string(i), NoOp(kInputBytes / 4, dynamic_batching));
  }
}

// m0, which calls three models one after the other.
void WriteEnsemble(const std::filesystem::path& repository, bool dynamic_batching) {
  WriteModel(repository, "first", NoOp(kInputBytes / 4, dynamic_batching));
  WriteModel(repository, "second", NoOp(1, dynamic_batching));
  WriteModel(repository, "third", NoOp(1, dynamic_batching));
  auto step = [](const char* model, const char* from, const char* to) {
    return std::string("  step { model_name: \"") + model + "\" model_version: -1 input_map { key: \"x\" value: \"" +
           from + "\" } output_map { key: \"y\" value: \"" + to + "\" } }\n";
  };
  WriteModel(repository, "m0",
             Tensors(kInputBytes / 4) + "platform: \"ensemble\"\nensemble_scheduling {\n" + step("first", "x", "a") +
                 step("second", "a", "b") + step("third", "b", "y") + "}\n");
}

TRITONSERVER_Server* StartServer(const char* repository, const char* backends) {
  TRITONSERVER_ServerOptions* options;
  CHECK(TRITONSERVER_ServerOptionsNew, &options);
  CHECK(TRITONSERVER_ServerOptionsSetModelRepositoryPath, options, repository);
  CHECK(TRITONSERVER_ServerOptionsSetBackendDirectory, options, backends);
  CHECK(TRITONSERVER_ServerOptionsSetModelControlMode, options, TRITONSERVER_MODEL_CONTROL_NONE);
  CHECK(TRITONSERVER_ServerOptionsSetLogInfo, options, false);
  CHECK(TRITONSERVER_ServerOptionsSetLogWarn, options, false);
  CHECK(TRITONSERVER_ServerOptionsSetMetrics, options, false);
  CHECK(TRITONSERVER_ServerOptionsSetGpuMetrics, options, false);
  CHECK(TRITONSERVER_ServerOptionsSetCpuMetrics, options, false);
  TRITONSERVER_Server* server;
  CHECK(TRITONSERVER_ServerNew, &server, options);
  CHECK(TRITONSERVER_ServerOptionsDelete, options);
  bool ready = false;
  CHECK(TRITONSERVER_ServerIsReady, server, &ready);
  if (!ready) Fail("the core is not ready");
  return server;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int TritonFloor(int argc, char** argv) {
  if (argc != 7) Fail("usage: triton_floor CORE REPOSITORY BACKENDS MODELS BATCHING REQUESTS");
  const bool ensemble = argv[4] == std::string("ensemble");
  const int models = ensemble ? 1 : std::atoi(argv[4]);
  const std::string batching = argv[5];
  if (batching != "dynamic" && batching != "none") Fail("BATCHING is dynamic or none, got " + batching);
  const std::string requests = argv[6];
  if (requests != "fresh" && requests != "reused") Fail("REQUESTS is fresh or reused, got " + requests);
  if (ensemble) {
    WriteEnsemble(argv[2], batching == "dynamic");
  } else {
    WriteModels(argv[2], models, batching == "dynamic");
  }
  const auto start = Clock::now();
  TRITONSERVER_Server* server = StartServer(argv[2], argv[3]);
  std::cout << "ready start_us=" << Nanos(Clock::now() - start) / 1000 << " " << Memory() << std::endl;
  auto caller = std::make_unique<Caller>(server, models, requests == "reused");
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "memory") {
      std::cout << Memory() << std::endl;
      continue;
    }
    std::istringstream arguments(line);
    uint32_t depth = 0;
    int millis = 0, spin_us = 0;
    if (!(arguments >> depth >> millis >> spin_us) || depth < 1 || depth > kMostOutstanding) Fail("bad line: " + line);
    std::cout << caller->Run(depth, millis, std::chrono::microseconds(spin_us)) << std::endl;
  }
  // An orderly stop of thousands of models takes seconds and measures nothing.
  std::_Exit(0);
}
