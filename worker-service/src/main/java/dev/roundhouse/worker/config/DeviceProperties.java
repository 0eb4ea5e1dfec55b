package dev.roundhouse.worker.config;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What runs the models.
 *
 * @param platform PJRT platform, such as `cpu` or `cuda`; a plugin of another is refused.
 * @param plugin Path of the PJRT plugin. Empty: searched for in the usual places.
 * @param ordinal Which of the platform's devices to use.
 * @param cpu Settings of the `cpu` platform.
 * @param options Further options of the plugin's client, by its own names. `true`, `0` and `0.5`
 *     are passed as what they look like, unless the option is known to be of another type; a list
 *     is written `[0,1]`.
 */
public record DeviceProperties(
    @NotBlank @DefaultValue("cpu") String platform,
    @DefaultValue("") String plugin,
    @Min(0) @DefaultValue("0") int ordinal,
    @Valid @DefaultValue Cpu cpu,
    @DefaultValue Map<String, String> options) {

  public DeviceProperties {
    options = ClientOptionNames.joined(options);
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
