package dev.roundhouse.node.process;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** How a process's line is written among those of others. */
@FunctionalInterface
public interface LineForm {

  /**
   * @param line has it at its start; borrowed
   * @return with its end of line
   */
  byte[] written(byte[] line, int length);

  /** The same bytes, after the process's name. */
  static LineForm behind(String name) {
    byte[] prefix = ("[" + name + "] ").getBytes(StandardCharsets.UTF_8);
    return (line, length) ->
        ByteBuffer.allocate(prefix.length + length + 1)
            .put(prefix)
            .put(line, 0, length)
            .put((byte) '\n')
            .array();
  }
}
