// A plugin that says it is CUDA's and computes by the CPU plugin, FAKE_INNER. Stricter than CUDA's about pinned memory and
// about memory that is lent to an upload, whole or in parts: it must stay as it is until its event, and the event must be
// waited for. What ends a process in XLA's transfer managers is found when the client is destroyed.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "pjrt_c_api.h"

#ifndef FAKE_GPUS
#define FAKE_GPUS 2
#endif
#ifndef FAKE_LARGEST_FREE_BLOCK
#define FAKE_LARGEST_FREE_BLOCK -1
#endif

#ifndef FAKE_TRANSFER_MILLIS
#define FAKE_TRANSFER_MILLIS 2
#endif

// The part of a tensor that does not arrive; none unless given.
#ifndef FAKE_LOST_PART
#define FAKE_LOST_PART -1
#endif

#ifndef FAKE_CAPABILITY
#define FAKE_CAPABILITY "9.0"
#endif

namespace {

// Errors of our own stand beside the inner plugin's, which look alike from outside.
struct Failure {
  PJRT_Error_Code code;
  std::string message;
};

const PJRT_Api* inner = nullptr;
PJRT_Api api;
std::mutex mutex;
std::map<const void*, Failure> failures;
std::map<char*, size_t> mapped;

using Clock = std::chrono::steady_clock;

// An upload that reads the caller's memory after the call.
struct Transfer {
  PJRT_Client* client;
  const char* data;
  std::string sent;
  Clock::time_point end;
  bool done;
};

// By event.
std::map<const void*, Transfer> transfers;
std::string misuse;

using Manager = PJRT_AsyncHostToDeviceTransferManager;

// A tensor that comes in parts.
struct Parts {
  PJRT_Client* client;
  int64_t next;
  int count;
  bool closed;
};

std::map<const Manager*, Parts> managers;

// The GPUs that the newest client opened.
std::vector<int64_t> opened;

// As NVIDIA's libraries find it when they are loaded.
std::string tf32_override;

PJRT_Error* Fail(PJRT_Error_Code code, const char* message) {
  const std::lock_guard<std::mutex> lock(mutex);
  auto* error = reinterpret_cast<PJRT_Error*>(new char);
  failures[error] = {code, message};
  return error;
}

void Destroy(PJRT_Error_Destroy_Args* args) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (failures.erase(args->error) == 0) {
    inner->PJRT_Error_Destroy(args);
  } else {
    delete reinterpret_cast<char*>(args->error);
  }
}

void Message(PJRT_Error_Message_Args* args) {
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = failures.find(args->error);
  if (found == failures.end()) return inner->PJRT_Error_Message(args);
  args->message = found->second.message.data();
  args->message_size = found->second.message.size();
}

PJRT_Error* GetCode(PJRT_Error_GetCode_Args* args) {
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = failures.find(args->error);
  if (found == failures.end()) return inner->PJRT_Error_GetCode(args);
  args->code = found->second.code;
  return nullptr;
}

// Options as CUDA's plugin has them; empties the numbers of GPUs unless they are named.
PJRT_Error* ReadOptions(const PJRT_Client_Create_Args* args, std::vector<int64_t>* gpus) {
  static const std::set<std::string> known = {"allocator", "memory_fraction", "preallocate", "visible_devices",
                                              "should_stage_host_to_device_transfers"};
  for (size_t i = 0; i < args->num_options; i++) {
    const PJRT_NamedValue& option = args->create_options[i];
    const std::string name(option.name, option.name_size);
    if (known.count(name) == 0) {
      return Fail(PJRT_Error_Code_INVALID_ARGUMENT, "Unexpected option name passed to PJRT_Client_Create");
    }
    if (name == "visible_devices") {
      gpus->assign(option.int64_array_value, option.int64_array_value + option.value_size);
    }
  }
  return nullptr;
}

PJRT_Error* Create(PJRT_Client_Create_Args* args) {
  if (FAKE_GPUS == 0) return Fail(PJRT_Error_Code_FAILED_PRECONDITION, "No visible GPU devices.");
  std::vector<int64_t> gpus;
  for (int64_t i = 0; i < FAKE_GPUS; i++) gpus.push_back(i);
  PJRT_Error* refusal = ReadOptions(args, &gpus);
  if (refusal != nullptr) return refusal;
  for (int64_t gpu : gpus) {
    if (gpu >= FAKE_GPUS) return Fail(PJRT_Error_Code_INTERNAL, "no supported devices found for platform CUDA");
  }
  opened = gpus;
  PJRT_NamedValue count = {};
  count.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  count.name = "cpu_device_count";
  count.name_size = std::strlen(count.name);
  count.type = PJRT_NamedValue_kInt64;
  count.int64_value = static_cast<int64_t>(gpus.size());
  count.value_size = 1;
  args->create_options = &count;
  args->num_options = 1;
  return inner->PJRT_Client_Create(args);
}

// With the lock held: waits for the end, as what comes after an upload on a stream does.
void Finish(Transfer* transfer) {
  if (transfer->done) return;
  std::this_thread::sleep_until(transfer->end);
  transfer->done = true;
  if (std::memcmp(transfer->data, transfer->sent.data(), transfer->sent.size()) != 0) {
    misuse = "host memory was changed under an upload";
  }
}

void FinishAll() {
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto& [event, transfer] : transfers) Finish(&transfer);
}

PJRT_Error* ClientDestroy(PJRT_Client_Destroy_Args* args) {
  std::string found;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    found.swap(misuse);
    for (auto& [event, transfer] : transfers) {
      if (transfer.client == args->client) found = "an event of an upload was not destroyed";
    }
    for (auto& [manager, parts] : managers) {
      if (parts.client == args->client) found = "a transfer manager was not destroyed";
    }
  }
  PJRT_Error* error = inner->PJRT_Client_Destroy(args);
  return error != nullptr || found.empty() ? error : Fail(PJRT_Error_Code_INTERNAL, found.c_str());
}

// With the lock held: an event of memory that is lent from now on.
PJRT_Event* Lend(PJRT_Client* client, const void* memory, size_t size) {
  const char* data = static_cast<const char*>(memory);
  auto* event = reinterpret_cast<PJRT_Event*>(new char);
  transfers[event] = {client, data, std::string(data, size),
                      Clock::now() + std::chrono::milliseconds(FAKE_TRANSFER_MILLIS), false};
  return event;
}

PJRT_Error* BufferFromHost(PJRT_Client_BufferFromHostBuffer_Args* args) {
  const bool lent = args->host_buffer_semantics != PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  PJRT_Error* error = inner->PJRT_Client_BufferFromHostBuffer(args);
  if (error != nullptr || !lent) return error;
  PJRT_Buffer_OnDeviceSizeInBytes_Args size = {};
  size.struct_size = PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE;
  size.buffer = args->buffer;
  inner->PJRT_Buffer_OnDeviceSizeInBytes(&size);
  PJRT_Event_Destroy_Args copied = {};
  copied.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
  copied.event = args->done_with_host_buffer;
  inner->PJRT_Event_Destroy(&copied);
  const std::lock_guard<std::mutex> lock(mutex);
  args->done_with_host_buffer = Lend(args->client, args->data, size.on_device_size_in_bytes);
  return nullptr;
}

PJRT_Error* CreateBuffers(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args) {
#ifdef FAKE_WHOLE_ONLY
  return Fail(PJRT_Error_Code_UNIMPLEMENTED, "CreateBuffersForAsyncHostToDevice is not implemented on platform: cuda");
#endif
  PJRT_Error* error = inner->PJRT_Client_CreateBuffersForAsyncHostToDevice(args);
  if (error != nullptr) return error;
  const std::lock_guard<std::mutex> lock(mutex);
  managers[args->transfer_manager] = {args->client, 0, 0, false};
  return nullptr;
}

PJRT_Error* SetBufferError(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Parts& parts = managers.at(args->transfer_manager);
    if (parts.closed) {
      misuse = "a tensor was given up whose fate was known";
      return nullptr;
    }
    parts.closed = true;
  }
  return inner->PJRT_AsyncHostToDeviceTransferManager_SetBufferError(args);
}

// Copies at once, and gives the memory back later.
PJRT_Error* TransferData(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args) {
  PJRT_Client* client = nullptr;
  bool lost = false;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Parts& parts = managers.at(args->transfer_manager);
    if (parts.closed) {
      misuse = "a part came for a tensor whose fate was known";
      return Fail(PJRT_Error_Code_INTERNAL, "CHECK failed");
    }
    if (args->offset != parts.next) misuse = "a part did not follow the one before";
    parts.next += args->transfer_size;
    client = parts.client;
    lost = parts.count++ == FAKE_LOST_PART;
    parts.closed = args->is_last_transfer || lost;
  }
  PJRT_Error* error = nullptr;
  if (lost) {
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args failure = {};
    failure.struct_size = PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args_STRUCT_SIZE;
    failure.transfer_manager = args->transfer_manager;
    failure.error_code = PJRT_Error_Code_INTERNAL;
    failure.error_message = "the link lost a part";
    failure.error_message_size = std::strlen(failure.error_message);
    error = inner->PJRT_AsyncHostToDeviceTransferManager_SetBufferError(&failure);
  } else {
    error = inner->PJRT_AsyncHostToDeviceTransferManager_TransferData(args);
    if (error != nullptr) return error;
    PJRT_Event_Await_Args await = {};
    await.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE;
    await.event = args->done_with_h2d_transfer;
    error = inner->PJRT_Event_Await(&await);
    PJRT_Event_Destroy_Args destroy = {};
    destroy.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
    destroy.event = args->done_with_h2d_transfer;
    inner->PJRT_Event_Destroy(&destroy);
  }
  const std::lock_guard<std::mutex> lock(mutex);
  args->done_with_h2d_transfer = Lend(client, args->data, args->transfer_size);
  return error;
}

PJRT_Error* ManagerDestroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    // Not every plugin then tells the tensor that nothing more will come.
    if (!managers.at(args->transfer_manager).closed) misuse = "a tensor with missing parts was not given up";
    managers.erase(args->transfer_manager);
  }
  return inner->PJRT_AsyncHostToDeviceTransferManager_Destroy(args);
}

PJRT_Error* EventIsReady(PJRT_Event_IsReady_Args* args) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    auto found = transfers.find(args->event);
    if (found != transfers.end()) {
      args->is_ready = found->second.end <= Clock::now();
      if (args->is_ready) Finish(&found->second);
      return nullptr;
    }
  }
  return inner->PJRT_Event_IsReady(args);
}

PJRT_Error* EventAwait(PJRT_Event_Await_Args* args) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    auto found = transfers.find(args->event);
    if (found != transfers.end()) {
      Finish(&found->second);
      return nullptr;
    }
  }
  return inner->PJRT_Event_Await(args);
}

PJRT_Error* EventDestroy(PJRT_Event_Destroy_Args* args) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    auto found = transfers.find(args->event);
    if (found != transfers.end()) {
      if (!found->second.done) misuse = "nobody waited for the event of an upload";
      transfers.erase(found);
      delete reinterpret_cast<char*>(args->event);
      return nullptr;
    }
  }
  return inner->PJRT_Event_Destroy(args);
}

PJRT_Error* ToHost(PJRT_Buffer_ToHostBuffer_Args* args) {
  FinishAll();
  return inner->PJRT_Buffer_ToHostBuffer(args);
}

PJRT_Error* RawToHost(PJRT_Buffer_CopyRawToHost_Args* args) {
  FinishAll();
  return inner->PJRT_Buffer_CopyRawToHost(args);
}

PJRT_Error* PlatformName(PJRT_Client_PlatformName_Args* args) {
  args->platform_name = "cuda";
  args->platform_name_size = 4;
  return nullptr;
}

// Counts what is still on its way as in use, for tests to see.
PJRT_Error* MemoryStats(PJRT_Device_MemoryStats_Args* args) {
  args->bytes_in_use = 1000;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    for (const auto& [event, transfer] : transfers) {
      if (!transfer.done) args->bytes_in_use += static_cast<int64_t>(transfer.sent.size());
    }
  }
  args->bytes_limit = int64_t{1} << 30;
  args->bytes_limit_is_set = true;
  args->largest_free_block_bytes = FAKE_LARGEST_FREE_BLOCK;
  args->largest_free_block_bytes_is_set = FAKE_LARGEST_FREE_BLOCK >= 0;
  return nullptr;
}

PJRT_Error* Attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  static PJRT_NamedValue attributes[3];
  PJRT_NamedValue& capability = attributes[0];
  capability.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  capability.name = "compute_capability";
  capability.name_size = std::strlen(capability.name);
  capability.type = PJRT_NamedValue_kString;
  capability.string_value = FAKE_CAPABILITY;
  capability.value_size = std::strlen(FAKE_CAPABILITY);
  PJRT_NamedValue& gpus = attributes[1];
  gpus.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  gpus.name = "opened_gpus";
  gpus.name_size = std::strlen(gpus.name);
  gpus.type = PJRT_NamedValue_kInt64List;
  gpus.int64_array_value = opened.data();
  gpus.value_size = opened.size();
  PJRT_NamedValue& tf32 = attributes[2];
  tf32.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  tf32.name = "tf32_override";
  tf32.name_size = std::strlen(tf32.name);
  tf32.type = PJRT_NamedValue_kString;
  tf32.string_value = tf32_override.data();
  tf32.value_size = tf32_override.size();
  args->attributes = attributes;
  args->num_attributes = 3;
  return nullptr;
}

PJRT_Error* DmaMap(PJRT_Client_DmaMap_Args* args) {
  auto* begin = static_cast<char*>(args->data);
#ifdef FAKE_LOCKED_MEMORY
  return Fail(PJRT_Error_Code_INTERNAL, "Failed to register host memory at address: 0x1s");
#endif
  {
    const std::lock_guard<std::mutex> lock(mutex);
    bool overlaps = false;
    for (const auto& [other, size] : mapped) overlaps |= begin < other + size && other < begin + args->size;
    if (!overlaps) {
      mapped[begin] = args->size;
      return nullptr;
    }
  }
  return Fail(PJRT_Error_Code_INTERNAL, "Failed to register host memory: it is registered");
}

PJRT_Error* DmaUnmap(PJRT_Client_DmaUnmap_Args* args) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (mapped.erase(static_cast<char*>(args->data)) == 1) return nullptr;
  }
  return Fail(PJRT_Error_Code_INTERNAL, "Failed to unregister host memory: it is not registered");
}

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
#ifndef FAKE_LOST
  FinishAll();
  return inner->PJRT_LoadedExecutable_Execute(args);
#endif
  return Fail(PJRT_Error_Code_INTERNAL,
              "CUDA error: Failed to launch CUDA kernel: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was "
              "encountered");
}

}  // namespace

extern "C" const PJRT_Api* GetPjrtApi() {
  void* library = dlopen(FAKE_INNER, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const char* tf32 = std::getenv("NVIDIA_TF32_OVERRIDE");
  tf32_override = tf32 == nullptr ? "unset" : tf32;
  inner = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  api = *inner;
  api.PJRT_Error_Destroy = Destroy;
  api.PJRT_Error_Message = Message;
  api.PJRT_Error_GetCode = GetCode;
  api.PJRT_Client_Create = Create;
  api.PJRT_Client_PlatformName = PlatformName;
  api.PJRT_DeviceDescription_Attributes = Attributes;
  api.PJRT_Device_MemoryStats = MemoryStats;
  api.PJRT_Client_DmaMap = DmaMap;
  api.PJRT_Client_DmaUnmap = DmaUnmap;
  api.PJRT_LoadedExecutable_Execute = Execute;
  api.PJRT_Client_Destroy = ClientDestroy;
  api.PJRT_Client_BufferFromHostBuffer = BufferFromHost;
  api.PJRT_Client_CreateBuffersForAsyncHostToDevice = CreateBuffers;
  api.PJRT_AsyncHostToDeviceTransferManager_TransferData = TransferData;
  api.PJRT_AsyncHostToDeviceTransferManager_SetBufferError = SetBufferError;
  api.PJRT_AsyncHostToDeviceTransferManager_Destroy = ManagerDestroy;
  api.PJRT_Event_IsReady = EventIsReady;
  api.PJRT_Event_Await = EventAwait;
  api.PJRT_Event_Destroy = EventDestroy;
  api.PJRT_Buffer_ToHostBuffer = ToHost;
  api.PJRT_Buffer_CopyRawToHost = RawToHost;
  return &api;
}
