package dev.roundhouse.worker.config;

import java.util.Map;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * A transport of somebody else's ([transports.md](transports.md)).
 *
 * @param enabled Serve it. Without this a jar in `server.transports-directory` is looked at and not
 *     used.
 * @param settings What it reads, as it documents; one that it does not know stops the start.
 */
public record TransportProperties(
    @DefaultValue("false") boolean enabled, @DefaultValue Map<String, String> settings) {
  public TransportProperties {
    settings = Map.copyOf(settings);
  }
}
