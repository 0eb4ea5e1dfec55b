package dev.roundhouse.hooks;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Tensors by name, in order. Immutable. */
public final class Tensors implements Iterable<Tensor> {
  private final Map<String, Tensor> byName = new LinkedHashMap<>();

  private Tensors(Iterable<Tensor> tensors) {
    for (Tensor tensor : tensors) {
      if (byName.put(tensor.name(), tensor) != null) {
        throw new IllegalArgumentException("there are two tensors '" + tensor.name() + "'");
      }
    }
  }

  /**
   * @throws IllegalArgumentException when two have the same name
   */
  public static Tensors of(Tensor... tensors) {
    return new Tensors(List.of(tensors));
  }

  /** As {@link #of(Tensor...)}. */
  public static Tensors of(Iterable<Tensor> tensors) {
    return new Tensors(tensors);
  }

  /**
   * @throws IllegalArgumentException when there is none of that name; says which there are
   */
  public Tensor get(String name) {
    Tensor tensor = byName.get(name);
    if (tensor == null) {
      throw new IllegalArgumentException(
          "there is no tensor '%s'; there are %s".formatted(name, byName.keySet()));
    }
    return tensor;
  }

  public boolean has(String name) {
    return byName.containsKey(name);
  }

  public int size() {
    return byName.size();
  }

  public List<String> names() {
    return List.copyOf(byName.keySet());
  }

  @Override
  public Iterator<Tensor> iterator() {
    return List.copyOf(byName.values()).iterator();
  }

  @Override
  public String toString() {
    return byName.values().toString();
  }
}
