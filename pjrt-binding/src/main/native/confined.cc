// Runs a command that can read little, write less, and reach no network and no other process.
//
// usage: confined [--files] [--calls] [--read PATH]... [--run PATH]... [--write PATH]... -- COMMAND ARGUMENT...
//
// --files (Landlock) leaves the command these paths and what is below them; --calls (seccomp) refuses it the system
// calls below. In any case it gains no privileges, leaves no core file, and is the first that the kernel ends when
// memory runs out. What cannot be done is exit code 71 and a line on standard error, and the command does not run.
//
// A program of its own, because Landlock binds the thread that asks for it and those that it starts: a JVM has others.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kCannotConfine = 71;
constexpr int kCannotRun = 127;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "confined: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(kCannotConfine);
}

// What linux/landlock.h says, which older systems have in part or not at all.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadFolder = 1 << 3;
constexpr uint64_t kTruncate = 1 << 14;
constexpr uint64_t kControlDevice = 1 << 15;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice;

struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scopes;
};

struct PathRule {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

long LandlockVersion() { return syscall(kCreateRuleset, nullptr, 0, kAskVersion); }

// All that this version of Landlock can take away.
Ruleset Everything(long version) {
  const int rights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  return {(1ULL << rights) - 1, version >= 4 ? 3ULL : 0, version >= 6 ? 3ULL : 0};
}

size_t Size(long version) {
  return version >= 6 ? sizeof(Ruleset) : version >= 4 ? offsetof(Ruleset, scopes) : offsetof(Ruleset, network);
}

struct Allowed {
  std::string path;
  uint64_t rights;
};

void Allow(int ruleset, const Allowed& allowed, uint64_t known) {
  const int opened = open(allowed.path.c_str(), O_PATH | O_CLOEXEC);
  if (opened < 0) {
    if (errno == ENOENT || errno == EACCES) return;  // not there for the command either
    Fail(allowed.path);
  }
  struct stat kind;
  if (fstat(opened, &kind) != 0) Fail(allowed.path);
  const PathRule rule = {allowed.rights & known & (S_ISDIR(kind.st_mode) ? ~0ULL : kOfFiles), opened};
  if (syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) != 0) Fail("a rule for " + allowed.path);
  close(opened);
}

void ConfineFiles(const std::vector<Allowed>& allowed) {
  const long version = LandlockVersion();
  if (version < 1) Fail("no Landlock");
  const Ruleset all = Everything(version);
  const int ruleset = static_cast<int>(syscall(kCreateRuleset, &all, Size(version), 0));
  if (ruleset < 0) Fail("no ruleset of Landlock");
  for (const Allowed& each : allowed) Allow(ruleset, each, all.files);
  if (syscall(kRestrictSelf, ruleset, 0) != 0) Fail("Landlock");
  close(ruleset);
}

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "which architecture do system calls have here?"
#endif
constexpr uint32_t kOtherAbi = 0x40000000;  // x32's calls have this bit

// The network, other processes, and parts of the kernel that compiling has no use for.
constexpr uint32_t kRefused[] = {
    __NR_socket,        __NR_socketpair,   __NR_bind,           __NR_connect,      __NR_listen,
    __NR_ptrace,        __NR_kill,         __NR_tkill,          __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo,
    __NR_process_vm_readv, __NR_process_vm_writev, __NR_kcmp,   __NR_unshare,      __NR_setns,
    __NR_mount,         __NR_umount2,      __NR_pivot_root,     __NR_chroot,       __NR_bpf,
    __NR_perf_event_open, __NR_userfaultfd, __NR_keyctl,        __NR_add_key,      __NR_request_key,
    __NR_shmget,        __NR_shmat,        __NR_msgget,         __NR_semget,       __NR_mq_open,
    __NR_init_module,   __NR_finit_module, __NR_delete_module,  __NR_kexec_load,   __NR_reboot,
    __NR_settimeofday,  __NR_clock_settime, __NR_sethostname,   __NR_swapon,       __NR_quotactl,
    __NR_open_by_handle_at, __NR_personality, __NR_acct,
    // the same numbers everywhere: pidfd_send_signal, io_uring_setup, _enter, _register, pidfd_open, pidfd_getfd
    424, 425, 426, 427, 434, 438,
};

void Refuse(std::vector<sock_filter>& filter, int error) {
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)));
}

void ConfineCalls() {
  std::vector<sock_filter> filter;
  const auto load = [&](size_t offset) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  };
  load(offsetof(seccomp_data, arch));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  load(offsetof(seccomp_data, nr));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherAbi, 0, 1));
  Refuse(filter, ENOSYS);
  for (const uint32_t call : kRefused) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    Refuse(filter, EPERM);
  }
  // a thread of its own may be signalled, which abort() does; the process keeps its number when it runs the command
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 3));
  load(offsetof(seccomp_data, args));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(getpid()), 1, 0));
  Refuse(filter, EPERM);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) Fail("seccomp");
}

// A rule for /proc/self holds for as long as the kernel remembers this folder: it does while somebody has it open.
void HoldOwnFolder() {
  if (open("/proc/self", O_PATH | O_DIRECTORY) < 0) Fail("/proc/self");
}

// The kernel then ends this process before its parent, which serves.
void OfferToOutOfMemoryKiller() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, "1000", 4) != 4) {
    std::fprintf(stderr, "oom_score_adj stays as it is: %s\n", std::strerror(errno));
  }
  close(file);
}

}  // namespace

int main(int count, char** arguments) {
  bool files = false;
  bool calls = false;
  std::vector<Allowed> allowed;
  int at = 1;
  for (; at < count && std::strcmp(arguments[at], "--") != 0; at++) {
    const std::string option = arguments[at];
    if (option == "--files") {
      files = true;
    } else if (option == "--calls") {
      calls = true;
    } else if (at + 1 < count && option == "--read") {
      allowed.push_back({arguments[++at], kReadFile | kReadFolder});
    } else if (at + 1 < count && option == "--run") {
      allowed.push_back({arguments[++at], kReadFile | kReadFolder | kExecute});
    } else if (at + 1 < count && option == "--write") {
      allowed.push_back({arguments[++at], ~kExecute});
    } else {
      errno = EINVAL;
      Fail(option);
    }
  }
  if (at + 1 >= count) {
    errno = EINVAL;
    Fail("no command");
  }
  OfferToOutOfMemoryKiller();
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail("no_new_privs");
  if (files) ConfineFiles(allowed);
  if (calls) ConfineCalls();
  HoldOwnFolder();
  execv(arguments[at + 1], arguments + at + 1);
  std::fprintf(stderr, "confined: %s: %s\n", arguments[at + 1], std::strerror(errno));
  return kCannotRun;
}
