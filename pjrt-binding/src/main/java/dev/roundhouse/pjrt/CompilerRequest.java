package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.ProgramSource;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * A request to a compiler process.
 *
 * @param isTried an equal program has been run on trial, and this one need not be
 */
record CompilerRequest(ProgramSource program, boolean isTried) {

  void write(DataOutputStream out) throws IOException {
    CompilerSettings.writeBytes(out, program.name().getBytes(StandardCharsets.UTF_8));
    CompilerSettings.writeBytes(out, program.code());
    out.writeBoolean(isTried);
    out.flush();
  }

  static CompilerRequest read(DataInputStream in) throws IOException {
    String name = new String(CompilerSettings.readBytes(in), StandardCharsets.UTF_8);
    ProgramSource program = new ProgramSource(name, CompilerSettings.readBytes(in));
    return new CompilerRequest(program, in.readBoolean());
  }
}
