package dev.roundhouse.simulation.fleet;

import dev.roundhouse.bundle.ProgramCode;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * The program of one batch size, the same for every model: only its signature is ever read.
 *
 * @param weights elements of the one weight; 0 for none
 * @param text StableHLO
 */
record RowProgram(int batchSize, int weights, String name, String text) implements ProgramCode {
  private static final ConcurrentMap<Kind, RowProgram> MADE = new ConcurrentHashMap<>();

  static RowProgram of(int batchSize, int weights) {
    return MADE.computeIfAbsent(new Kind(batchSize, weights), RowProgram::make);
  }

  /** What the program of a batch size is called. */
  static String name(int batchSize) {
    return "model.b" + batchSize + ".mlir";
  }

  private static RowProgram make(Kind kind) {
    int batchSize = kind.batchSize;
    String weights = kind.weights == 0 ? "" : ", %w: tensor<" + kind.weights + "xf32>";
    String type = "tensor<" + batchSize + "x1xi64>";
    String text =
        """
        func.func public @main(%%rows: %1$s%2$s) -> %1$s {
          return %%rows : %1$s
        }
        """
            .formatted(type, weights);
    return new RowProgram(batchSize, kind.weights, name(batchSize), text);
  }

  private record Kind(int batchSize, int weights) {}

  @Override
  public int variant() {
    return 0;
  }

  @Override
  public byte[] read() {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
