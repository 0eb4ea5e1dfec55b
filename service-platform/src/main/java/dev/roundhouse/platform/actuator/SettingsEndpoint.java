package dev.roundhouse.platform.actuator;

import dev.roundhouse.platform.config.EffectiveSettings;
import dev.roundhouse.platform.config.Setting;
import java.util.List;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/** {@code /actuator/settings}: which settings are not at their defaults. */
@Endpoint(id = "settings")
public final class SettingsEndpoint {
  private final EffectiveSettings settings;

  public SettingsEndpoint(EffectiveSettings settings) {
    this.settings = settings;
  }

  @ReadOperation
  public Settings read() {
    return new Settings(settings.read());
  }

  /** By key. */
  public record Settings(List<Setting> settings) {}
}
