package dev.roundhouse.simulation.traffic;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Arrivals in order of time. Used once, by one thread. */
@FunctionalInterface
public interface Arrivals {

  /** The next one; null when there are no more. */
  @Nullable Arrival next();

  /** All that are left. */
  static List<Arrival> toList(Arrivals arrivals) {
    List<Arrival> all = new ArrayList<>();
    for (Arrival next = arrivals.next(); next != null; next = arrivals.next()) {
      all.add(next);
    }
    return all;
  }

  /** Those of a list. */
  static Arrivals of(List<Arrival> arrivals) {
    Iterator<Arrival> left = arrivals.iterator();
    return () -> left.hasNext() ? left.next() : null;
  }

  /** Two streams in one; at the same moment {@code first} comes first. */
  static Arrivals merge(Arrivals first, Arrivals second) {
    return new Arrivals() {
      private @Nullable Arrival a = first.next();
      private @Nullable Arrival b = second.next();

      @Override
      public @Nullable Arrival next() {
        Arrival ours = a;
        Arrival other = b;
        if (ours != null && (other == null || ours.nanos() <= other.nanos())) {
          a = first.next();
          return ours;
        }
        b = other == null ? null : second.next();
        return other;
      }
    };
  }
}
