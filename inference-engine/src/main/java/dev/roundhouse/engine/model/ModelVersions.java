package dev.roundhouse.engine.model;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The versions of a name at one moment, ascending. Immutable; looking one up allocates nothing. */
public final class ModelVersions {
  static final ModelVersions NONE = new ModelVersions(List.of());

  private final PublishedVersion[] versions;
  private final @Nullable PublishedVersion head;

  private ModelVersions(List<PublishedVersion> ascending) {
    versions = ascending.toArray(PublishedVersion[]::new);
    // Of versions in the same state, the newest.
    head = ascending.stream().reduce((a, b) -> rank(b) >= rank(a) ? b : a).orElse(null);
  }

  /**
   * The version that requests ask for.
   *
   * @param version empty for the newest that is ready or, when none is, the one that says best why
   * @return null when there is none
   */
  public @Nullable PublishedVersion find(String version) {
    if (version.isEmpty()) {
      return head;
    }
    for (PublishedVersion each : versions) {
      if (each.status().version().equals(version)) {
        return each;
      }
    }
    return null;
  }

  public List<PublishedVersion> all() {
    return List.of(versions);
  }

  boolean isEmpty() {
    return versions.length == 0;
  }

  Optional<PublishedVersion> head() {
    return Optional.ofNullable(head);
  }

  boolean isReady() {
    return head != null && head.status().isReady();
  }

  /** Why newer files than those that answer do not; empty when they do, or nothing answers. */
  Optional<String> stale() {
    PublishedVersion answers = isReady() ? head : null;
    if (answers == null) {
      return Optional.empty();
    }
    return all().stream()
        .filter(each -> each.status().isReady() || number(each) > number(answers))
        .filter(each -> each.status().isReady() || each.status().state() == ModelState.FAILED)
        .map(each -> each.status().reason())
        .filter(reason -> !reason.isEmpty())
        .findFirst();
  }

  /** True when nothing answers, and something soon may. */
  boolean isLoading() {
    return head != null && head.status().state() == ModelState.LOADING;
  }

  boolean hasFailed() {
    for (PublishedVersion each : versions) {
      if (each.status().state() == ModelState.FAILED) {
        return true;
      }
    }
    return false;
  }

  /** These, with one version put in or replaced. */
  ModelVersions with(PublishedVersion changed) {
    List<PublishedVersion> others = others(changed.status().version());
    others.add(changed);
    others.sort(Comparator.comparingLong(ModelVersions::number));
    return new ModelVersions(others);
  }

  ModelVersions without(String version) {
    return new ModelVersions(others(version));
  }

  private List<PublishedVersion> others(String version) {
    List<PublishedVersion> others = new ArrayList<>(all());
    others.removeIf(each -> each.status().version().equals(version));
    return others;
  }

  private static long number(PublishedVersion version) {
    try {
      return Long.parseLong(version.status().version());
    } catch (NumberFormatException e) {
      return 0; // what an embedding program calls a version need not be a number
    }
  }

  private static int rank(PublishedVersion version) {
    return switch (version.status().state()) {
      case READY -> 4;
      case LOADING -> 3;
      case FAILED -> 2;
      case UNLOADING -> 1;
      case UNLOADED -> 0;
    };
  }
}
