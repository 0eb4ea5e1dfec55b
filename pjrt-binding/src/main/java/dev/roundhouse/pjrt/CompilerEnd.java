package dev.roundhouse.pjrt;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Says how a process ended that was not asked to. */
final class CompilerEnd {
  private static final int LAST_LINES = 3;
  private static final int SIGNALS = 128;

  /** HotSpot reports the signal and the frame, and then ends itself by SIGABRT. */
  private static final Pattern SIGNAL = Pattern.compile("(SIG[A-Z]+) \\(0x\\w+\\)");

  private static final Pattern FRAME = Pattern.compile("# C +\\[.*");
  private static final Map<Integer, String> NAMES =
      Map.of(
          4, "SIGILL", 6, "SIGABRT", 7, "SIGBUS", 8, "SIGFPE", 9, "SIGKILL", 11, "SIGSEGV", 15,
          "SIGTERM");

  private CompilerEnd() {}

  /**
   * @param exitCode as {@link Process} has it: 128 and the signal, if it was one
   * @param said the last lines of its output
   */
  static String describe(int exitCode, String[] said) {
    String how = how(exitCode, said);
    List<String> telling = new ArrayList<>();
    for (String line : said) {
      if (!line.startsWith("#")) {
        telling.add(line);
      } else if (FRAME.matcher(line).matches()) {
        telling.add(line.substring(1).strip());
      }
    }
    return telling.isEmpty()
        ? how + " and said nothing"
        : how
            + " and said last: "
            + String.join(
                " | ", telling.subList(Math.max(0, telling.size() - LAST_LINES), telling.size()));
  }

  private static String how(int exitCode, String[] said) {
    for (String line : said) {
      Matcher signal = SIGNAL.matcher(line);
      if (line.startsWith("#") && signal.find()) {
        return "crashed with " + signal.group(1);
      }
    }
    if (exitCode <= SIGNALS) {
      return "ended with exit code " + exitCode;
    }
    int signal = exitCode - SIGNALS;
    String name = NAMES.getOrDefault(signal, "signal " + signal);
    return signal == 9
        ? "was ended by SIGKILL, maybe by the kernel because memory was short,"
        : "crashed with " + name;
  }
}
