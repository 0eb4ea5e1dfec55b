package dev.roundhouse.simulation.fleet;

import dev.roundhouse.bundle.ProgramCode;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The program of one batch size, the same for every model: only its signature is ever read.
 *
 * @param text StableHLO
 */
record RowProgram(int batchSize, String name, String text) implements ProgramCode {
  private static final ConcurrentMap<Integer, RowProgram> MADE = new ConcurrentHashMap<>();

  static RowProgram of(int batchSize) {
    return MADE.computeIfAbsent(batchSize, RowProgram::make);
  }

  private static RowProgram make(int batchSize) {
    String type = "tensor<" + batchSize + "x1xi64>";
    String text =
        """
        func.func public @main(%%rows: %1$s) -> %1$s {
          return %%rows : %1$s
        }
        """
            .formatted(type);
    return new RowProgram(batchSize, "model.b" + batchSize + ".mlir", text);
  }

  @Override
  public int variant() {
    return 0;
  }

  @Override
  public byte[] read() {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
