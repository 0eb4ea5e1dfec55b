package dev.roundhouse.bundle.model;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Sizes of the variable axes in one compiled shape variant; empty for a model with one shape. */
public record Variant(SortedMap<Character, Long> sizes) {
  public static final Variant SINGLE = new Variant(Map.of());

  public Variant {
    sizes = Collections.unmodifiableSortedMap(new TreeMap<>(sizes));
  }

  public Variant(Map<Character, Long> sizes) {
    this(new TreeMap<>(sizes));
  }

  /**
   * @throws IllegalArgumentException when this variant gives the letter no size
   */
  public long size(char letter) {
    Long size = sizes.get(letter);
    if (size == null) {
      throw new IllegalArgumentException(
          "variant " + sizes + " gives axis '" + letter + "' no size");
    }
    return size;
  }
}
