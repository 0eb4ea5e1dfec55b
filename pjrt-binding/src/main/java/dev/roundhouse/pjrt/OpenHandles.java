package dev.roundhouse.pjrt;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The open handles of one client, so that leaks have names. A linked list through the handles
 * themselves: adding and removing allocate nothing, as every run does both.
 */
final class OpenHandles {
  private @Nullable NativeHandle newest;
  private int count;

  synchronized void add(NativeHandle handle) {
    NativeHandle below = newest;
    handle.next = below;
    if (below != null) {
      below.previous = handle;
    }
    newest = handle;
    count++;
  }

  synchronized void remove(NativeHandle handle) {
    NativeHandle above = handle.previous;
    NativeHandle below = handle.next;
    if (above == null) {
      newest = below;
    } else {
      above.next = below;
    }
    if (below != null) {
      below.previous = above;
    }
    handle.previous = null;
    handle.next = null;
    count--;
  }

  synchronized int count() {
    return count;
  }

  /** Up to {@code limit} of them, newest first. */
  synchronized List<String> describe(int limit) {
    List<String> names = new ArrayList<>();
    for (NativeHandle each = newest; each != null && names.size() < limit; each = each.next) {
      names.add(each.describe());
    }
    return names;
  }
}
