package dev.roundhouse.worker.config;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * What compiled programs may need.
 *
 * @param maxProgramMemory Most memory one execution of a program may need for outputs and scratch;
 *     a model with a larger program fails to load. Unset: three quarters of the machine's memory on
 *     `cpu`, what the device has elsewhere.
 * @param options Options of XLA's for every program, by the names of its flags without the dashes,
 *     such as `xla_gpu_autotune_level`. `true`, `0` and `0.5` are passed as what they look like.
 *     One that the compiler does not know stops the start.
 */
public record CompileProperties(
    @DataSizeRange(min = "1MB", max = "16TB") @Nullable DataSize maxProgramMemory,
    @DefaultValue Map<String, String> options) {

  public CompileProperties {
    options = ClientOptionNames.joined(options);
  }
}
