package dev.roundhouse.bundle.error;

import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;

/** What is wrong with JSON or YAML, in a line fit for callers. */
public final class JsonProblem {
  /** Jackson names a source that it does not show, and the setting that would show it. */
  private static final Pattern SOURCE =
      Pattern.compile(" \\(start marker at \\[Source: [^\\]]*\\]\\)| at \\[Source: [^\\]]*\\]");

  private JsonProblem() {}

  public static String of(JacksonException failure) {
    String words = String.valueOf(failure.getOriginalMessage());
    return SOURCE.matcher(words).replaceAll("").lines().findFirst().orElse("unreadable");
  }
}
