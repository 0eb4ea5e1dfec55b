package dev.roundhouse.bundle;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Which versions in a model's folder serve. Immutable. */
public sealed interface VersionPolicy {
  /** The newest. */
  VersionPolicy LATEST = new Latest(1);

  /** The {@code count} newest. */
  record Latest(int count) implements VersionPolicy {}

  /** Every one. */
  record All() implements VersionPolicy {}

  /** Those named. */
  record Named(Set<Long> numbers) implements VersionPolicy {
    public Named {
      numbers = Set.copyOf(numbers);
    }
  }

  /**
   * Reads {@code latest}, {@code latest:2}, {@code all} or {@code 1,3}.
   *
   * @throws IllegalArgumentException naming the text and what may be written
   */
  static VersionPolicy parse(String text) {
    String policy = text.strip();
    if (policy.equals("latest")) {
      return LATEST;
    }
    if (policy.equals("all")) {
      return new All();
    }
    Matcher latest = Pattern.compile("latest:([1-9][0-9]{0,3})").matcher(policy);
    if (latest.matches()) {
      return new Latest(Integer.parseInt(latest.group(1)));
    }
    if (policy.matches("[1-9][0-9]{0,17}(\\s*,\\s*[1-9][0-9]{0,17})*")) {
      Set<Long> numbers = new TreeSet<>();
      for (String number : policy.split("\\s*,\\s*", -1)) {
        numbers.add(Long.parseLong(number));
      }
      return new Named(numbers);
    }
    throw new IllegalArgumentException(
        "version policy '"
            + text
            + "' is none of: latest, latest:N (the N newest), all, or numbers such as 1,3");
  }

  /**
   * Selects the versions to serve.
   *
   * @param versions ascending
   * @return ascending; a version that is named and not there is in it with the folder it should
   *     have, so that reading it says so
   */
  default List<ModelFolder.Version> select(Path folder, List<ModelFolder.Version> versions) {
    return switch (this) {
      case All() -> List.copyOf(versions);
      case Latest(int count) ->
          List.copyOf(versions.subList(Math.max(0, versions.size() - count), versions.size()));
      case Named(Set<Long> numbers) -> {
        List<ModelFolder.Version> selected = new ArrayList<>();
        for (long number : new TreeSet<>(numbers)) {
          selected.add(
              versions.stream()
                  .filter(version -> version.number() == number)
                  .findFirst()
                  .orElseGet(
                      () ->
                          new ModelFolder.Version(number, folder.resolve(Long.toString(number)))));
        }
        yield List.copyOf(selected);
      }
    };
  }
}
