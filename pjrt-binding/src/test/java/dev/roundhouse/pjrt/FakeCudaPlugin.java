package dev.roundhouse.pjrt;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Builds {@code src/test/native/fake_cuda.cc}: a plugin that says it is CUDA's and computes by the
 * CPU plugin. The compiler is there, as the build made the JNI library with it.
 */
final class FakeCudaPlugin {
  private static final Path SOURCE = Path.of("src/test/native/fake_cuda.cc");

  private FakeCudaPlugin() {}

  /**
   * @param file the library to make; its folder is made too
   * @param defines such as {@code FAKE_GPUS=0}
   */
  static Path build(Path file, String... defines) {
    Path inner = PjrtPlugin.load(PluginOptions.DEFAULTS).path();
    List<String> command = new ArrayList<>(List.of("c++", "-std=c++17", "-shared", "-fPIC"));
    command.add("-DFAKE_INNER=\"" + inner + "\"");
    for (String define : defines) {
      command.add("-D" + define);
    }
    command.addAll(List.of("-I", inner.resolveSibling("include").toString()));
    command.addAll(List.of("-o", file.toString(), SOURCE.toString(), "-ldl"));
    try {
      Files.createDirectories(file.getParent());
      Process compiler = new ProcessBuilder(command).redirectErrorStream(true).start();
      String said = String.join("\n", compiler.inputReader().readAllLines());
      if (compiler.waitFor() != 0) {
        throw new IllegalStateException(said);
      }
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  static PjrtDeviceOptions options(Path plugin) {
    return PjrtDeviceOptions.DEFAULTS.withPlugin(
        PluginOptions.DEFAULTS.withPlatform(PluginOptions.CUDA).withPath(plugin));
  }

  static PjrtDevice open(Path plugin) {
    return PjrtDevice.open(options(plugin));
  }
}
