package dev.roundhouse.node.devices;

import java.util.List;

/** Which GPUs the operator wants. Ids are texts: numbers and UUIDs alike. */
public sealed interface GpuChoice {

  /** All that are found. */
  record Auto() implements GpuChoice {}

  /** This many, from the first; 0 for none: workers run on the CPU. */
  record Count(int count) implements GpuChoice {}

  /** These, each once. */
  record Ids(List<String> ids) implements GpuChoice {}

  /**
   * Reads {@code auto}, a number, or ids. One number alone is a count; to name the GPU 1 alone
   * write {@code [1]} or {@code 1,}.
   *
   * @param where the setting, for the refusal
   * @throws IllegalArgumentException naming it
   */
  static GpuChoice parse(String where, String text) {
    String trimmed = text.trim();
    boolean list = trimmed.startsWith("[") && trimmed.endsWith("]");
    String inner = list ? trimmed.substring(1, trimmed.length() - 1) : trimmed;
    if (inner.equals("auto")) {
      return new Auto();
    }
    if (!list && inner.matches("[0-9]{1,4}")) {
      return new Count(Integer.parseInt(inner));
    }
    List<String> ids =
        List.of(inner.split("[,\\s]+")).stream().filter(id -> !id.isEmpty()).toList();
    if (ids.isEmpty()) {
      throw new IllegalArgumentException(
          where + " is '" + text + "'; write auto, a count, or ids such as 0,1 or GPU-8a5e…");
    }
    for (int i = 0; i < ids.size(); i++) {
      if (ids.indexOf(ids.get(i)) != i) {
        throw new IllegalArgumentException(
            where + " names the GPU '" + ids.get(i) + "' twice; each can have one worker");
      }
      if (!ids.get(i).matches("[0-9]{1,4}|(GPU|MIG)-[A-Za-z0-9/-]{1,120}")) {
        throw new IllegalArgumentException(
            where + " has '" + ids.get(i) + "', which is neither the number nor the UUID of a GPU");
      }
    }
    return new Ids(ids);
  }
}
