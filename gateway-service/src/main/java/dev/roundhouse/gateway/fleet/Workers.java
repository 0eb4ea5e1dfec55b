package dev.roundhouse.gateway.fleet;

import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** The workers as last checked, for calls that several answer. Thread-safe. */
public final class Workers {
  private final InstantSource wall;
  private volatile List<WorkerLook> looks = List.of();
  private volatile Map<String, Instant> since = Map.of();

  /**
   * @param wall for operators, who compare it with logs
   */
  public Workers(InstantSource wall) {
    this.wall = wall;
  }

  /** The workers have been checked. One thread's. */
  public void seen(List<WorkerLook> now) {
    Instant at = wall.instant();
    Map<String, Boolean> before = HashMap.newHashMap(looks.size());
    looks.forEach(look -> before.put(look.link().name(), look.ready()));
    Map<String, Instant> known = HashMap.newHashMap(now.size());
    for (WorkerLook look : now) {
      String name = look.link().name();
      boolean same = Objects.equals(before.get(name), look.ready());
      known.put(name, same ? since.getOrDefault(name, at) : at);
    }
    since = known;
    looks = List.copyOf(now);
  }

  /** Since when a worker has been ready, or has not; empty for an unknown one. */
  public Optional<Instant> since(String name) {
    return Optional.ofNullable(since.get(name));
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
