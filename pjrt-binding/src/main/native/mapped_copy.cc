// Copies from and to mapped files that somebody else may make shorter: what is not there any more is reported, where
// touching it would end the process.
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "dev_roundhouse_pjrt_MappedCopy.h"
#include "pjrt_call.h"

namespace {

// A copy that is under way on this thread, and where it goes on after a fault in its memory.
struct Guard {
  sigjmp_buf resume;
  uintptr_t from;
  uintptr_t to;
  size_t size;

  bool Covers(uintptr_t address) const { return address - from < size || address - to < size; }
};

// Initial-exec: the handler must not be what first asks for a thread's memory.
thread_local Guard* volatile guard __attribute__((tls_model("initial-exec"))) = nullptr;

struct sigaction jvms;

// As if the JVM's own handler had been called by the system.
void PassOn(int signal, siginfo_t* info, void* context) {
  if ((jvms.sa_flags & SA_SIGINFO) != 0) {
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &jvms.sa_mask, &before);
    jvms.sa_sigaction(signal, info, context);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  } else if (jvms.sa_handler != SIG_DFL && jvms.sa_handler != SIG_IGN) {
    jvms.sa_handler(signal);
  } else {
    sigaction(signal, &jvms, nullptr);  // what faulted runs again, and ends the process
  }
}

void OnFault(int signal, siginfo_t* info, void* context) {
  Guard* copy = guard;
  if (copy != nullptr && copy->Covers(reinterpret_cast<uintptr_t>(info->si_addr))) {
    siglongjmp(copy->resume, 1);
  }
  PassOn(signal, info, context);
}

}  // namespace

// Once, after the JVM has put its own handler there.
extern "C" JNIEXPORT void JNICALL Java_dev_roundhouse_pjrt_MappedCopy_install(JNIEnv* env, jclass) try {
  sigaction(SIGBUS, nullptr, &jvms);
  struct sigaction ours = {};
  ours.sa_sigaction = OnFault;
  // not masked meanwhile, as a copy that is resumed never returns from the handler
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | (jvms.sa_flags & (SA_ONSTACK | SA_RESTART));
  sigemptyset(&ours.sa_mask);
  if (sigaction(SIGBUS, &ours, nullptr) != 0) {
    const std::string message = std::string("no handler for SIGBUS: ") + std::strerror(errno);
    roundhouse::Throw(env, "sigaction", PJRT_Error_Code_INTERNAL, message.data(), message.size());
  }
} ROUNDHOUSE_CATCH(env, )

// False when some of the memory is not there; how much was copied before is then unknown.
extern "C" JNIEXPORT jboolean JNICALL Java_dev_roundhouse_pjrt_MappedCopy_copy(JNIEnv*, jclass, jlong from, jlong to,
                                                                              jlong size) {
  Guard copy;
  copy.from = static_cast<uintptr_t>(from);
  copy.to = static_cast<uintptr_t>(to);
  copy.size = static_cast<size_t>(size);
  if (sigsetjmp(copy.resume, 0) != 0) {
    guard = nullptr;
    return JNI_FALSE;
  }
  guard = &copy;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // no byte is copied outside the guard
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), copy.size);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  guard = nullptr;
  return JNI_TRUE;
}
