package dev.roundhouse.platform.config;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import org.jspecify.annotations.Nullable;

/**
 * A key that is not at its default.
 *
 * @param value in effect, or {@value SettingSecrets#MASK} for a secret
 * @param defaultValue null when there is none
 * @param from kind of place that it was set at, such as {@code command line}
 * @param origin the place itself, such as a file and a line of it; null when the kind says it all
 */
@JsonInclude
public record Setting(
    String key,
    String value,
    @JsonProperty("default") @Nullable String defaultValue,
    String from,
    @Nullable String origin) {}
