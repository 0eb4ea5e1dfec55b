package dev.roundhouse.worker.lifecycle;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What one process noted, line by line: {@code process pid millis}, {@code begin}, {@code built},
 * {@code end} and {@code hung}, each with the model; parts are apart by tabs. A text that is not
 * known is passed over.
 */
final class JournalEntry {
  /**
   * A model with the files that it had.
   *
   * @param fingerprint of its bundle
   */
  record Key(String model, String version, String fingerprint) {
    String line() {
      return model + "\t" + version + "\t" + fingerprint;
    }
  }

  private final Set<Key> loading = new LinkedHashSet<>();
  private final Map<Integer, Key> slots = new LinkedHashMap<>();
  private Optional<Key> hung = Optional.empty();
  private long pid = -1;
  private long sinceMillis;

  static JournalEntry read(List<String> lines) {
    JournalEntry entry = new JournalEntry();
    for (String line : lines) {
      try {
        entry.read(line.split("\t", -1));
      } catch (NumberFormatException _) {
        // cut off
      }
    }
    return entry;
  }

  private void read(String[] parts) {
    if (parts.length == 3 && parts[0].equals("process")) {
      pid = Long.parseLong(parts[1]);
      sinceMillis = Long.parseLong(parts[2]);
    } else if (parts.length == 5) {
      Key key = new Key(parts[2], parts[3], parts[4]);
      switch (parts[0]) {
        case "begin" -> loading.add(key);
        case "built" -> slots.put(Integer.parseInt(parts[1]), key);
        case "end" -> loading.remove(key);
        case "hung" -> hung = Optional.of(key);
        default -> {}
      }
    }
  }

  long pid() {
    return pid;
  }

  long sinceMillis() {
    return sinceMillis;
  }

  /**
   * Over which models it ended.
   *
   * @param slot of the model whose run was on the device; below 0 for none
   * @param crashed the JVM left its report of a crash
   */
  Verdict verdict(int slot, boolean crashed) {
    if (hung.isPresent()) {
      return new Verdict(
          List.of(hung.get()),
          Strike.Kind.RUN,
          "its run did not end, and the watchdog ended the process");
    }
    Key running = slots.get(slot);
    if (crashed && running != null && (loading.isEmpty() || loading.contains(running))) {
      return new Verdict(List.of(running), Strike.Kind.RUN, "the process crashed during its run");
    }
    // Without a crash report a run proves nothing: a busy process may have been killed.
    return new Verdict(
        new ArrayList<>(loading), Strike.Kind.LOAD, "the process ended while it was loaded");
  }

  /**
   * @param blamed the model to blame, or several suspects
   */
  record Verdict(List<Key> blamed, Strike.Kind kind, String how) {}
}
