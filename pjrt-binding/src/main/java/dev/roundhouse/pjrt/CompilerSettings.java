package dev.roundhouse.pjrt;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The first message to a compiler process: all that its compiles depend on. What this process has
 * set for its own plugin, in the environment too, the other does not see.
 *
 * @param plugin its file and flags
 * @param client what its client is created with
 * @param ordinal which of the client's devices
 * @param compileOptions as {@link CompileOptions#encode} made them
 * @param runBytesLimit the most bytes of outputs and scratch that a run may need
 * @param dump the folder that the compile options have the compiler write to; it is not sent
 */
record CompilerSettings(
    PluginOptions plugin,
    ClientOptions client,
    int ordinal,
    byte[] compileOptions,
    long runBytesLimit,
    Optional<String> dump) {
  /** Of a GPU's memory: enough to try out kernels, little beside what models have. */
  private static final float MEMORY_FRACTION = 0.05f;

  CompilerSettings(PluginOptions plugin, ClientOptions client, int ordinal, byte[] compileOptions) {
    this(plugin, client, ordinal, compileOptions, Long.MAX_VALUE, Optional.empty());
  }

  CompilerSettings withRunBytesLimit(OptionalLong bytes) {
    return new CompilerSettings(
        plugin, client, ordinal, compileOptions, bytes.orElse(Long.MAX_VALUE), dump);
  }

  /** For compiling what a client's device runs. */
  static CompilerSettings of(PjrtClient client, PjrtDeviceOptions options) {
    PluginOptions plugin =
        options
            .plugin()
            .withPlatform(client.platform())
            .withPath(client.plugin().named().toAbsolutePath());
    ClientOptions beside =
        client.platform().equals(PluginOptions.CUDA)
            ? options.client().with("preallocate", false).with("memory_fraction", MEMORY_FRACTION)
            : options.client();
    return new CompilerSettings(
        plugin,
        beside,
        options.ordinal(),
        client.encoded(options.compile()),
        Long.MAX_VALUE,
        options.compile().dump());
  }

  void write(DataOutputStream out) throws IOException {
    out.writeUTF(plugin.platform());
    out.writeUTF(plugin.path().orElseThrow().toString());
    out.writeInt(plugin.xlaFlags().size());
    for (String flag : plugin.xlaFlags()) {
      writeBytes(out, flag.getBytes(StandardCharsets.UTF_8));
    }
    out.writeInt(plugin.cpuThreads().orElse(0));
    out.writeBoolean(plugin.forbidsTf32());
    byte[][] names = client.names();
    int[] kinds = client.kinds();
    byte[][] texts = client.texts();
    long[][] numbers = client.numbers();
    out.writeInt(names.length);
    for (int i = 0; i < names.length; i++) {
      writeBytes(out, names[i]);
      out.writeInt(kinds[i]);
      writeBytes(out, texts[i]);
      out.writeInt(numbers[i].length);
      for (long number : numbers[i]) {
        out.writeLong(number);
      }
    }
    out.writeInt(ordinal);
    writeBytes(out, compileOptions);
    out.writeLong(runBytesLimit);
  }

  static CompilerSettings read(DataInputStream in) throws IOException {
    String platform = in.readUTF();
    Path path = Path.of(in.readUTF());
    List<String> flags = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      flags.add(new String(readBytes(in), StandardCharsets.UTF_8));
    }
    int threads = in.readInt();
    boolean forbidsTf32 = in.readBoolean();
    int count = in.readInt();
    byte[][] names = new byte[count][];
    int[] kinds = new int[count];
    byte[][] texts = new byte[count][];
    long[][] numbers = new long[count][];
    for (int i = 0; i < count; i++) {
      names[i] = readBytes(in);
      kinds[i] = in.readInt();
      texts[i] = readBytes(in);
      numbers[i] = new long[in.readInt()];
      for (int k = 0; k < numbers[i].length; k++) {
        numbers[i][k] = in.readLong();
      }
    }
    PluginOptions plugin =
        new PluginOptions(
            platform,
            Optional.of(path),
            Optional.empty(),
            flags,
            threads == 0 ? OptionalInt.empty() : OptionalInt.of(threads),
            forbidsTf32);
    return new CompilerSettings(
        plugin,
        ClientOptions.of(names, kinds, texts, numbers),
        in.readInt(),
        readBytes(in),
        in.readLong(),
        Optional.empty());
  }

  static void writeBytes(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  static byte[] readBytes(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0) {
      throw new IOException("a message of " + length + " bytes");
    }
    byte[] bytes = in.readNBytes(length); // as they come: a length may be nonsense
    if (bytes.length < length) {
      throw new EOFException("a message of " + length + " bytes ends after " + bytes.length);
    }
    return bytes;
  }
}
