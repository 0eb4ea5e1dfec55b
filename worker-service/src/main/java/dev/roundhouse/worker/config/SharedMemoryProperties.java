package dev.roundhouse.worker.config;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import java.util.List;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Whether clients may have tensors read from and written to memory of this machine.
 *
 * @param enabled Let clients register POSIX shared-memory objects, and memory of theirs on the
 *     worker's GPU. Whoever reaches a port of this worker can then read and write those of this
 *     machine that the worker's user may.
 * @param keyPrefixes Beginnings of the names of objects that may be registered, without a slash;
 *     empty for any.
 * @param maxRegions Most regions that may be registered at once.
 */
public record SharedMemoryProperties(
    @DefaultValue("false") boolean enabled,
    @DefaultValue List<@NotBlank String> keyPrefixes,
    @Min(1) @Max(65536) @DefaultValue("1024") int maxRegions) {}
