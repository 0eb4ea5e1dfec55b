package dev.roundhouse.worker.config;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What runs the models.
 *
 * @param platform PJRT platform, such as `cpu` or `cuda`; a plugin of another is refused.
 * @param plugin Path of the PJRT plugin. Empty: searched for in the usual places of the platform
 *     (docs/cuda.md names those of `cuda`).
 * @param ordinal Which of the platform's devices to use; where `cuda.visible-devices` is set, which
 *     of those.
 * @param cpu Settings of the `cpu` platform.
 * @param cuda Settings of the `cuda` platform.
 * @param options Further options of the plugin's client, by its own names. `true`, `0` and `0.5`
 *     are passed as what they look like, unless the option is known to be of another type; a list
 *     is written `[0,1]`.
 * @param xlaFlags Added to the environment variable XLA_FLAGS, one flag to an element, such as
 *     `--xla_gpu_autotune_level=2`. A flag that the plugin does not know, or that the variable has
 *     too, stops the start.
 */
public record DeviceProperties(
    @NotBlank @DefaultValue("cpu") String platform,
    @DefaultValue("") String plugin,
    @Min(0) @DefaultValue("0") int ordinal,
    @Valid @DefaultValue Cpu cpu,
    @Valid @DefaultValue CudaProperties cuda,
    @DefaultValue Map<String, String> options,
    @DefaultValue List<String> xlaFlags) {

  public DeviceProperties {
    options = ClientOptionNames.joined(options);
    xlaFlags = List.copyOf(xlaFlags);
  }

  /**
   * Settings of the `cpu` platform.
   *
   * @param weights `alias` lets programs read weights where they lie in host memory; `copy` copies
   *     them first, as a device with memory of its own must.
   * @param threads Size of the platform's thread pool. Unset: one for each core.
   */
  public record Cpu(@DefaultValue("alias") Weights weights, @Min(1) @Nullable Integer threads) {}

  /** How weights reach a device that shares the host's memory. */
  public enum Weights {
    ALIAS,
    COPY
  }
}
