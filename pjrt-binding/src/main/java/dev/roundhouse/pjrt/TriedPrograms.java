package dev.roundhouse.pjrt;

import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Which programs have been run on trial, by their digest: those of models that differ in their
 * weights alone are equal. Remembers the last 10,000, about 2 MB. Thread-safe.
 */
final class TriedPrograms {
  private static final int MOST = 10_000;

  private final Set<String> digests =
      Collections.synchronizedSet(
          Collections.newSetFromMap(
              new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
                  return size() > MOST;
                }
              }));

  static String digest(byte[] code) {
    return HexFormat.of().formatHex(Sha256.of(code, 0, code.length));
  }

  boolean has(String digest) {
    return digests.contains(digest);
  }

  void add(String digest) {
    digests.add(digest);
  }
}
