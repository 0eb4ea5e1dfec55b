package dev.roundhouse.bundle;

/** The author's code that stands between callers and {@code @main}. */
public enum Glue {
  NONE,
  /** {@code Model.java}, compiled by the server. */
  JAVA_SOURCE,
  /** {@code model.jar}. */
  JAR
}
