package dev.roundhouse.node.process;

import dev.roundhouse.platform.process.Supervised;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A supervisor to be killed: keeps two processes running, one of which hangs when it is told to
 * end.
 */
final class SupervisorMain {
  private SupervisorMain() {}

  public static void main(String[] arguments) {
    String folder = arguments[0];
    Supervisor supervisor =
        new Supervisor(
            List.of(
                plan("stops", List.of(folder, "stops")),
                plan("hangs", List.of(folder, "hangs", "x"))),
            new RestartPolicy(Duration.ofSeconds(30), Duration.ofSeconds(60), 0),
            new OsProcesses(System.out, 1000, LineForm::behind),
            System::nanoTime);
    supervisor.start();
  }

  private static ProcessPlan plan(String name, List<String> arguments) {
    ProcessSpec spec =
        new ProcessSpec(java(Child.class, arguments), Map.of(Supervised.VARIABLE, "1"));
    return new ProcessPlan(name, () -> spec, StartGate.OPEN, Duration.ofSeconds(15), 0);
  }

  static List<String> java(Class<?> main, List<String> arguments) {
    java.util.ArrayList<String> command =
        new java.util.ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
    command.addAll(arguments);
    return command;
  }
}
