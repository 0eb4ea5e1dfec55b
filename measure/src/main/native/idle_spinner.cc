// Keeps one vCPU awake at the lowest priority there is, until its standard input closes: everybody else still comes
// first, but nobody pays for waking the vCPU up. Argument: the vCPU.
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(argc > 1 ? std::atoi(argv[1]) : 0, &cpus);
  sched_param none = {};
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0 || sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
    std::perror("idle_spinner");
    return 1;
  }
  std::puts("spinning");
  std::fflush(stdout);
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 0) == 0) {
    for (volatile int i = 0; i < 1'000'000; i = i + 1) {
    }
  }
  return 0;
}
