package dev.roundhouse.measure.turns;

import dev.roundhouse.measure.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The peer: the same PJRT calls, made by a C++ process. */
final class CppCalls implements AutoCloseable {
  private final Child child;

  private CppCalls(Child child) {
    this.child = child;
  }

  /** Starts the process and has it compile and check the program. */
  static CppCalls start(CallTurns.Peer peer, TinyProgram program) throws IOException {
    Path code = peer.scratch().resolve("sum-" + program.argumentCount() + ".mlir");
    Files.writeString(code, program.code());
    List<String> command =
        List.of(
            peer.floor().toString(),
            peer.plugin().toString(),
            peer.platform(),
            code.toString(),
            Integer.toString(program.argumentCount()),
            Integer.toString(TinyProgram.ELEMENTS));
    Child child =
        Child.start(
            "pjrt_floor",
            command,
            Map.of("PJRT_NPROC", Integer.toString(peer.pluginThreads())),
            peer.scratch().resolve("pjrt_floor.log"));
    CppCalls calls = new CppCalls(child);
    double sum = Double.parseDouble(child.awaitLine("ready "));
    if (sum != program.expectedSum()) {
      calls.close();
      throw new IOException(
          "pjrt_floor computed %.1f, expected %.1f".formatted(sum, program.expectedSum()));
    }
    return calls;
  }

  CallCost run(int calls) throws IOException {
    String[] nanos = child.ask(Integer.toString(calls)).split(" ");
    return CallCost.of(Long.parseLong(nanos[0]), Long.parseLong(nanos[1]), calls);
  }

  @Override
  public void close() {
    child.close();
  }
}
