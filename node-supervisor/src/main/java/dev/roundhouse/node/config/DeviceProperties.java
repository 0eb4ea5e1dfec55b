package dev.roundhouse.node.config;

import dev.roundhouse.node.devices.Discovery.Platform;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.time.Duration;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What workers run on.
 *
 * @param gpus `auto`, a count (0: none, workers run on the CPU), or ids, `[0,2]` or UUIDs. The
 *     variable REACTANT_GPUS wins.
 * @param platform `auto` takes GPUs if any are found, else the CPU; `cuda` refuses to start without
 *     one; `cpu` takes none.
 * @param cpuWorkers Workers where none runs on a GPU.
 * @param nvmlLibrary NVIDIA's management library, as the system's loader finds it.
 * @param nvidiaSmi Asked where that library is not there.
 * @param pollInterval How often it is looked how full the devices are.
 * @param reclaimTimeout How long the start of a worker, the first and every other, waits for its
 *     GPU's memory to be reclaimed from what ran there before. 0 waits for nothing.
 * @param reclaimMaxUsedPercent How much of it may be in use at a start.
 */
public record DeviceProperties(
    @NotBlank @DefaultValue("auto") String gpus,
    @DefaultValue("auto") Platform platform,
    @Min(1) @Max(256) @DefaultValue("1") int cpuWorkers,
    @NotBlank @DefaultValue("libnvidia-ml.so.1") String nvmlLibrary,
    @NotBlank @DefaultValue("nvidia-smi") String nvidiaSmi,
    @DurationMin(millis = 100) @DurationMax(hours = 1) @DefaultValue("2s") Duration pollInterval,
    @DurationMin(seconds = 0) @DurationMax(hours = 1) @DefaultValue("30s") Duration reclaimTimeout,
    @Min(0) @Max(100) @DefaultValue("15") int reclaimMaxUsedPercent) {}
