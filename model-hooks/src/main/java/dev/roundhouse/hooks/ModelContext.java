package dev.roundhouse.hooks;

import java.nio.file.Path;
import java.util.List;

/** The model version that hooks belong to. Immutable and thread-safe. */
public interface ModelContext {
  String name();

  /** Decimal. */
  String version();

  /**
   * A file of the bundle, by its path in it, such as {@code tokenizer.json}. Its digest was checked
   * when the bundle was read.
   *
   * @throws IllegalArgumentException when the bundle has none of that name
   */
  Path asset(String file);

  /** All of {@link #asset}, its digest checked on these very bytes. */
  byte[] bytes(String file);

  /** The labels of an output that has such, one for each class; else none. */
  List<String> labels(String output);

  /** Writes to the server's log, under the model's name. */
  System.Logger logger();
}
