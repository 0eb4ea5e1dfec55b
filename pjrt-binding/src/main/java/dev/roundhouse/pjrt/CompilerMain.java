package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.ProgramSource;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A process that compiles: takes settings, then programs, from standard input, and answers on
 * standard output. Ends when its parent does, which it sees at the end of its input, and when it
 * has had nothing to do for a while.
 */
final class CompilerMain {
  /** Exit code: nothing to do. What was sent meanwhile can be sent to another process. */
  static final int IDLE = 75;

  private static final int NO_OUTPUT = 74;

  private CompilerMain() {}

  /**
   * @param args how many milliseconds without a program it stays, and the bytes of memory that it
   *     may take
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    NativeLibrary.load();
    int output = takeStandardOutput();
    if (output < 0) {
      Runtime.getRuntime().halt(NO_OUTPUT);
    }
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out =
        new DataOutputStream(
            new BufferedOutputStream(new FileOutputStream("/proc/self/fd/" + output)));
    CompilerSettings settings = settings(in);
    BlockingQueue<CompilerRequest> requests = new SynchronousQueue<>();
    Thread.ofPlatform().daemon().name("requests").start(() -> receive(in, requests));
    try {
      PjrtClient client = open(settings, out);
      CompilerRequest request = requests.poll(Long.parseLong(args[0]), TimeUnit.MILLISECONDS);
      while (request != null) {
        answer(client, settings, request, Long.parseLong(args[1]), out);
        request = requests.poll(Long.parseLong(args[0]), TimeUnit.MILLISECONDS);
      }
    } catch (IOException parentIsGone) {
      leave();
    }
    Runtime.getRuntime().halt(IDLE); // without the plugin's clean-up, which can hang
  }

  private static CompilerSettings settings(DataInputStream in) throws IOException {
    try {
      return CompilerSettings.read(in);
    } catch (EOFException parentIsGone) {
      leave();
      throw parentIsGone;
    }
  }

  /** Nobody else is left to tidy up; one that is confined cannot, and the next start does. */
  private static void leave() {
    LaunchFolder.delete(Path.of("").toAbsolutePath());
    Runtime.getRuntime().halt(0);
  }

  private static PjrtClient open(CompilerSettings settings, DataOutputStream out)
      throws IOException {
    try {
      PjrtPlugin plugin = PjrtPlugin.load(settings.plugin());
      PjrtClient client = PjrtClient.create(plugin, settings.client(), settings.ordinal());
      new CompilerAnswer.Ready(plugin.stamp()).write(out);
      return client;
    } catch (DeviceException refusal) {
      refused(refusal).write(out);
      Runtime.getRuntime().halt(1);
      throw refusal;
    }
  }

  private static void answer(
      PjrtClient client,
      CompilerSettings settings,
      CompilerRequest request,
      long memoryBytes,
      DataOutputStream out)
      throws IOException {
    ProgramSource program = request.program();
    try (PjrtExecutable executable =
        client.compile(program.name(), program.code(), settings.compileOptions())) {
      RunMemory.check(executable, settings.runBytesLimit());
      new CompilerAnswer.Compiled(executable.payload()).write(out);
      if (client.platform().equals(PluginOptions.CPU) && !request.isTried()) {
        TrialRuns trial = new TrialRuns(client, executable, memoryBytes);
        trial.run(TrialValues.ZEROS);
        new CompilerAnswer.Ran().write(out);
        trial.run(TrialValues.SMALL);
        new CompilerAnswer.Ran().write(out);
        trial.run(TrialValues.EXTREME);
      }
      new CompilerAnswer.Sound().write(out);
    } catch (DeviceException refusal) {
      refused(refusal).write(out);
    }
  }

  private static CompilerAnswer refused(DeviceException refusal) {
    return new CompilerAnswer.Refused(refusal.code(), String.valueOf(refusal.getMessage()));
  }

  /** Reads on while a program is compiled, so that the end of the input is seen then too. */
  private static @Nullable Void receive(
      DataInputStream in, BlockingQueue<CompilerRequest> requests) {
    try {
      while (true) {
        requests.put(CompilerRequest.read(in));
      }
    } catch (IOException | InterruptedException parentIsGone) {
      leave();
      return null;
    }
  }

  private static native int takeStandardOutput();
}
