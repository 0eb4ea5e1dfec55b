package dev.roundhouse.gateway.fleet;

import java.util.List;
import java.util.Optional;

/** The workers as last checked, for calls that several answer. Thread-safe. */
public final class Workers {
  private volatile List<WorkerLook> looks = List.of();

  /** The workers have been checked. */
  public void seen(List<WorkerLook> now) {
    looks = List.copyOf(now);
  }

  public List<WorkerLook> all() {
    return looks;
  }

  /** Those that take requests. */
  public List<WorkerLink> ready() {
    return looks.stream().filter(WorkerLook::ready).map(WorkerLook::link).toList();
  }

  /** Those that take requests and have a model, whatever its state. */
  public List<WorkerLink> having(String model) {
    return looks.stream()
        .filter(look -> look.ready() && look.models().containsKey(model))
        .map(WorkerLook::link)
        .toList();
  }

  /** The worker of this name, if there still is one. */
  public Optional<WorkerLink> worker(String name) {
    return look(name).map(WorkerLook::link);
  }

  /** True for a worker whose weights are loaded to the device only when its operator asks. */
  public boolean isExternallyManaged(String name) {
    return look(name)
        .flatMap(WorkerLook::control)
        .filter(WorkerStatus::externallyManaged)
        .isPresent();
  }

  private Optional<WorkerLook> look(String name) {
    return looks.stream().filter(look -> look.link().name().equals(name)).findAny();
  }
}
