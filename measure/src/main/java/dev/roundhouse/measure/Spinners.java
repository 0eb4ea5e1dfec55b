package dev.roundhouse.measure;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Holds a {@link VcpuCondition} until closed. */
public final class Spinners implements AutoCloseable {
  private final List<Child> children = new ArrayList<>();

  private Spinners() {}

  /**
   * Brings the vCPUs into a condition.
   *
   * @param program the spinner; its argument is a vCPU
   * @param scratch folder for its messages
   */
  public static Spinners hold(VcpuCondition condition, Path program, Path scratch)
      throws IOException {
    Spinners spinners = new Spinners();
    int count =
        switch (condition) {
          case COLD -> 0;
          case HOT -> Runtime.getRuntime().availableProcessors();
        };
    try {
      for (int i = 0; i < count; i++) {
        Child child =
            Child.start(
                "spinner-" + i,
                List.of(program.toString(), Integer.toString(i)),
                Map.of(),
                scratch.resolve("spinner-" + i + ".log"));
        spinners.children.add(child);
        child.awaitLine("spinning");
      }
      return spinners;
    } catch (IOException failure) {
      spinners.close();
      throw failure;
    }
  }

  @Override
  public void close() {
    children.forEach(Child::close);
  }
}
