package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** What a compiler process answers. */
sealed interface CompilerAnswer {

  /**
   * It has a client and takes programs.
   *
   * @param stamp of the plugin's file that it has loaded
   */
  record Ready(String stamp) implements CompilerAnswer {}

  /** The executable as the plugin serialised it; it is run on trial next. */
  record Compiled(byte[] payload) implements CompilerAnswer {}

  /** It has run: first with zeros, then with small numbers; extreme values are next. */
  record Ran() implements CompilerAnswer {}

  /** It has run with extreme values too, or is not run on trial. */
  record Sound() implements CompilerAnswer {}

  /** The program, or the settings, are refused. */
  record Refused(DeviceException.Code code, String message) implements CompilerAnswer {}

  default void write(DataOutputStream out) throws IOException {
    switch (this) {
      case Ready ready -> {
        out.writeByte('r');
        out.writeUTF(ready.stamp);
      }
      case Compiled compiled -> {
        out.writeByte('c');
        CompilerSettings.writeBytes(out, compiled.payload);
      }
      case Ran _ -> out.writeByte('t');
      case Sound _ -> out.writeByte('s');
      case Refused refused -> {
        out.writeByte('x');
        out.writeUTF(refused.code.name());
        CompilerSettings.writeBytes(out, refused.message.getBytes(StandardCharsets.UTF_8));
      }
    }
    out.flush();
  }

  static CompilerAnswer read(DataInputStream in) throws IOException {
    int kind = in.readByte();
    return switch (kind) {
      case 'r' -> new Ready(in.readUTF());
      case 'c' -> new Compiled(CompilerSettings.readBytes(in));
      case 't' -> new Ran();
      case 's' -> new Sound();
      case 'x' ->
          new Refused(
              DeviceException.Code.valueOf(in.readUTF()),
              new String(CompilerSettings.readBytes(in), StandardCharsets.UTF_8));
      default -> throw new IOException("a compiler process answered with " + kind);
    };
  }
}
