package dev.roundhouse.pjrt;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A client's loaded executables, by source: equal programs, as of models that differ only in
 * weights, are in memory once. Thread-safe.
 */
final class LoadedExecutables {
  private final Map<Key, LoadedExecutable> loaded = new HashMap<>();

  /** One more program of what has been loaded from it; null when nothing has. */
  synchronized @Nullable LoadedExecutable join(Key key) {
    LoadedExecutable found = loaded.get(key);
    if (found != null) {
      found.programs++;
    }
    return found;
  }

  /** Lets later programs join. When two threads have loaded the same, one of them stays alone. */
  synchronized void add(Key key, LoadedExecutable executable) {
    if (loaded.putIfAbsent(key, executable) == null) {
      executable.key = key;
    }
  }

  /** One program less; true when that was the last, so the executable must be destroyed. */
  synchronized boolean leave(LoadedExecutable executable) {
    if (--executable.programs > 0) {
      return false;
    }
    if (executable.key != null) {
      loaded.remove(executable.key);
    }
    return true;
  }

  /** How many there are that programs can join. */
  synchronized int count() {
    return loaded.size();
  }

  /**
   * @param payload sha256 of the serialised executable, in hexadecimal
   * @param options sha256 of the compile options that it is loaded with
   */
  record Key(String payload, String options) {}
}
