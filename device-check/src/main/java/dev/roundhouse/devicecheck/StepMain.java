package dev.roundhouse.devicecheck;

import java.nio.file.Path;

/** The child process: one step. */
final class StepMain {
  private StepMain() {}

  /**
   * Arguments: the step's class, the file for findings, platform, plugin, allocator, home, scratch
   * folder.
   */
  public static void main(String[] arguments) throws Exception {
    Step step =
        Class.forName(arguments[0]).asSubclass(Step.class).getDeclaredConstructor().newInstance();
    CheckContext context =
        new CheckContext(
            arguments[2],
            arguments[3].isEmpty() ? null : Path.of(arguments[3]),
            arguments[4].isEmpty() ? null : arguments[4],
            Path.of(arguments[5]),
            Path.of(arguments[6]));
    int code = 0;
    try (Findings findings = Findings.into(Path.of(arguments[1]))) {
      try {
        step.run(context, findings);
      } catch (Exception | LinkageError | AssertionError failure) {
        findings.fail(step.name(), failure.toString());
        failure.printStackTrace();
        code = StepProcess.GAVE_UP;
      }
    }
    // Plugins leave threads behind; they must not keep the process alive.
    System.exit(code);
  }
}
