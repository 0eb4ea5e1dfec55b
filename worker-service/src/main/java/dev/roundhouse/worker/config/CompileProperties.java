package dev.roundhouse.worker.config;

import dev.roundhouse.platform.config.DataSizeRange;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.time.Duration;
import java.util.Map;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How programs are compiled, and what compiled programs may need.
 *
 * @param isolation `process` compiles in processes of their own, so that a program that crashes the
 *     compiler, hangs it or eats memory costs that model only; `in-process` compiles in the
 *     worker's. Unset: `process` on `cpu`, `in-process` elsewhere (docs/compiling.md says why).
 * @param confinement Whether compiler processes are kept from files, network and other processes:
 *     `auto` as far as the kernel allows, `required` wholly, or the worker does not start, `none`
 *     not at all, for a plugin that opens files in unusual places. On `cpu` alone, and for
 *     `process`.
 * @param threads Models that are loaded, and so compiled, at once.
 * @param timeout For `process`: longest that one program may take. Unset: 5m.
 * @param memory For `process`: most memory that the process may take for one program. Unset: half
 *     of what the machine or container has.
 * @param cache Folder in which compiled programs are kept, so that a restart loads instead of
 *     compiling. `auto`: `executables` in the cache directory (`ROUNDHOUSE_CACHE`, else
 *     `roundhouse` in `XDG_CACHE_HOME`, else `.cache/roundhouse` in `HOME`); `none`: they are not
 *     kept. Workers may share it.
 * @param cacheSize Most that its files may have together; those that were not used for longest go
 *     first.
 * @param maxProgramMemory Most memory one execution of a program may need for outputs and scratch;
 *     a model with a larger program fails to load. Unset: on `cpu` what the heap leaves of the
 *     machine's or container's memory, at most three quarters of it; what the device has elsewhere.
 *     `./roundhouse` and the images set the part that is for weights and programs (docs/memory.md).
 * @param options Options of XLA's for every program, by the names of its flags without the dashes,
 *     such as `xla_gpu_autotune_level`. `true`, `0` and `0.5` are passed as what they look like.
 *     One that the compiler does not know stops the start.
 */
public record CompileProperties(
    @Nullable Isolation isolation,
    @DefaultValue("auto") Confinement confinement,
    @Min(1) @Max(64) @DefaultValue("2") int threads,
    @DurationMin(millis = 1000) @DurationMax(hours = 24) @Nullable Duration timeout,
    @DataSizeRange(min = "256MB", max = "16TB") @Nullable DataSize memory,
    @NotBlank @DefaultValue("auto") String cache,
    @DataSizeRange(min = "1MB", max = "16TB") @DefaultValue("8GB") DataSize cacheSize,
    @DataSizeRange(min = "1MB", max = "16TB") @Nullable DataSize maxProgramMemory,
    @DefaultValue Map<String, String> options) {

  public CompileProperties {
    options = ClientOptionNames.joined(options);
  }

  /** Where the compiler runs. */
  public enum Isolation {
    PROCESS,
    IN_PROCESS
  }

  /** Whether a process that compiles is confined. */
  public enum Confinement {
    AUTO,
    REQUIRED,
    NONE
  }
}
