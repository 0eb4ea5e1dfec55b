// What this system can take away from a process.
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "dev_roundhouse_pjrt_Confinement.h"

extern "C" JNIEXPORT jboolean JNICALL Java_dev_roundhouse_pjrt_Confinement_hasLandlock(JNIEnv*, jclass) {
  constexpr long kCreateRuleset = 444;
  constexpr unsigned kAskVersion = 1;
  return syscall(kCreateRuleset, nullptr, 0, kAskVersion) >= 1;
}

extern "C" JNIEXPORT jboolean JNICALL Java_dev_roundhouse_pjrt_Confinement_hasSeccomp(JNIEnv*, jclass) {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
