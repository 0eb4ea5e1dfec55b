package dev.roundhouse.node.config;

import dev.roundhouse.platform.config.DataSizeRange;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How the processes' own lines go to the supervisor's standard output, each after `[NAME] `.
 *
 * @param maxLine What is kept of one line; the rest is cut off, and `[cut]` says so.
 */
public record LogProperties(
    @DataSizeRange(min = "100B", max = "1MB") @DefaultValue("16KB") DataSize maxLine) {}
