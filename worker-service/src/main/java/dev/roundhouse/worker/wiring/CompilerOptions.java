package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.pjrt.CompileOptions;
import dev.roundhouse.platform.config.StartRefusedException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** XLA options for every program, written as text and typed by their form. */
final class CompilerOptions {
  private static final String KEY = "roundhouse.worker.compile.options";
  private static final Pattern NAME = Pattern.compile("xla_[a-z0-9_]+");
  private static final Pattern INTEGER = Pattern.compile("-?\\d{1,18}");
  private static final Pattern DECIMAL = Pattern.compile("-?\\d+\\.\\d+([eE]-?\\d+)?");
  private static final Pattern BOOLEAN = Pattern.compile("true|false");

  private static final ProgramSource SMALLEST =
      new ProgramSource(
          "compile-options",
          """
          func.func public @main(%x: tensor<f32>) -> tensor<f32> {
            return %x : tensor<f32>
          }
          """
              .getBytes(StandardCharsets.UTF_8));

  private CompilerOptions() {}

  /**
   * @throws StartRefusedException for a name that no XLA option can have
   */
  static CompileOptions parse(Map<String, String> texts) {
    CompileOptions options = CompileOptions.DEFAULTS;
    for (Map.Entry<String, String> option : new TreeMap<>(texts).entrySet()) {
      String name = option.getKey();
      if (!NAME.matcher(name).matches()) {
        throw new StartRefusedException(
            "%s.%s is no option of XLA's: their names begin with xla_.".formatted(KEY, name),
            "Write the name of a flag of XLA's without its dashes, such as xla_gpu_autotune_level.");
      }
      options = add(options, name, option.getValue());
    }
    return options;
  }

  /**
   * Compiles the smallest program, so that an option that the compiler refuses is reported now and
   * not by every model.
   */
  static void check(Map<String, String> texts, Device device) {
    if (texts.isEmpty()) {
      return;
    }
    try {
      device.compile(SMALLEST).close();
    } catch (DeviceException refusal) {
      throw new StartRefusedException(
          "The compiler refuses %s %s: %s"
              .formatted(KEY, new TreeMap<>(texts), refusal.getMessage()),
          "Correct or remove the option; a number for a decimal option is written 1.0.",
          refusal);
    }
  }

  private static CompileOptions add(CompileOptions options, String name, String value) {
    if (BOOLEAN.matcher(value).matches()) {
      return options.with(name, Boolean.parseBoolean(value));
    }
    if (INTEGER.matcher(value).matches()) {
      return options.with(name, Long.parseLong(value));
    }
    if (DECIMAL.matcher(value).matches()) {
      return options.with(name, Double.parseDouble(value));
    }
    return options.with(name, value);
  }
}
