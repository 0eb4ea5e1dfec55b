package dev.roundhouse.worker.config;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Positive;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the `cuda` platform; any of them beside another platform stops the start. What is
 * unset is left to the plugin.
 *
 * @param pythonEnvironment Folder of the Python environment, or of `pip install --target`, in which
 *     the plugin's package is. Empty: searched for in VIRTUAL_ENV, CONDA_PREFIX, and the user's and
 *     the system's packages.
 * @param memoryFraction How much of the GPU's memory the plugin may take. Unset: the plugin's 0.75.
 * @param preallocate Whether it takes all of that at the start. Unset: the plugin's `true`.
 * @param allocator How it divides that memory. Unset: the plugin's `default`, which is `bfc`.
 * @param visibleDevices CUDA's numbers of the GPUs that the plugin opens, each of which it takes
 *     memory of. Empty: only the one that `ordinal` names.
 * @param stageTransfers Whether uploads from memory that is not pinned are copied to memory of the
 *     plugin's that is. Unset: the plugin's `true`.
 */
public record CudaProperties(
    @DefaultValue("") String pythonEnvironment,
    @Positive @DecimalMax("1") @Nullable Double memoryFraction,
    @Nullable Boolean preallocate,
    @Nullable Allocator allocator,
    @DefaultValue List<@Min(0) Integer> visibleDevices,
    @Nullable Boolean stageTransfers) {

  public CudaProperties {
    visibleDevices = List.copyOf(visibleDevices);
  }

  /** Keys below {@code device.cuda} that have been set. */
  public List<String> set() {
    return Stream.of(
            pythonEnvironment.isEmpty() ? null : "python-environment",
            memoryFraction == null ? null : "memory-fraction",
            preallocate == null ? null : "preallocate",
            allocator == null ? null : "allocator",
            visibleDevices.isEmpty() ? null : "visible-devices",
            stageTransfers == null ? null : "stage-transfers")
        .filter(key -> key != null)
        .map(String::valueOf)
        .toList();
  }

  /** The plugin's allocators. */
  public enum Allocator {
    DEFAULT,
    /** Divides one region; never gives any of it back. */
    BFC,
    CUDA_ASYNC,
    /** Asks CUDA for every buffer. */
    PLATFORM,
    ADDRESS,
    VMM
  }
}
