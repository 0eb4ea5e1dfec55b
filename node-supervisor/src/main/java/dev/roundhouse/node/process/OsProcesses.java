package dev.roundhouse.node.process;

import java.io.IOException;
import java.io.OutputStream;
import java.util.function.Function;
import java.util.function.IntConsumer;

/**
 * Starts real processes. This process holds the other end of each one's standard input and never
 * writes to it: end of input tells the child that this process is gone, however it ended.
 */
public final class OsProcesses implements ProcessStarter {
  private final OutputStream log;
  private final int maxLine;
  private final Function<String, LineForm> forms;

  /**
   * @param log gets the lines of all processes, one whole line in each write
   * @param maxLine bytes of a line that are kept
   * @param forms how a process's lines are written, by its name
   */
  public OsProcesses(OutputStream log, int maxLine, Function<String, LineForm> forms) {
    this.log = log;
    this.maxLine = maxLine;
    this.forms = forms;
  }

  @Override
  public ChildProcess start(String name, ProcessSpec spec, IntConsumer onExit) throws IOException {
    ProcessBuilder builder = new ProcessBuilder(spec.command()).redirectErrorStream(true);
    builder.environment().putAll(spec.environment());
    Process process = builder.start();
    try {
      Thread.ofPlatform()
          .daemon()
          .name("log-" + name)
          .start(new LinePump(forms.apply(name), process.getInputStream(), log, maxLine));
    } catch (OutOfMemoryError noThread) {
      process.destroyForcibly(); // its output would not be read
      throw noThread;
    }
    var unused = process.onExit().thenAccept(ended -> onExit.accept(ended.exitValue()));
    return new ChildProcess() {
      @Override
      public long pid() {
        return process.pid();
      }

      @Override
      public void terminate() {
        // Process.destroy closes the streams, and with them the child's log
        process.toHandle().destroy();
      }

      @Override
      public void kill() {
        process.toHandle().destroyForcibly();
      }
    };
  }
}
