package dev.roundhouse.platform.config;

import java.util.Map;
import java.util.Set;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.Environment;

/**
 * Refuses keys under {@code server} that Spring's servers read and ours does not: they would be
 * settings that are silently not made.
 */
public final class ServerKeys {
  private static final ConfigurationPropertyName SERVER = ConfigurationPropertyName.of("server");

  /** Of all that Spring knows under {@code server}, what our server does not have. */
  private static final Set<String> OTHERS =
      Set.of(
          "tomcat",
          "servlet",
          "http2",
          "compression",
          "forwardheadersstrategy",
          "serverheader",
          "jetty",
          "netty",
          "reactive",
          "undertow");

  private static final ConfigurationPropertyName NAME_BUNDLES =
      ConfigurationPropertyName.of("server.ssl.server-name-bundles");

  /** What there is of Tomcat's, as it is written without dashes. */
  private static final Map<String, String> INSTEAD =
      Map.of(
          "maxconnections", "max-connections",
          "acceptcount", "accept-count",
          "connectiontimeout", "connection-timeout",
          "keepalivetimeout", "keep-alive-timeout",
          "maxkeepaliverequests", "max-keep-alive-requests");

  private ServerKeys() {}

  /**
   * @param http where the application's own keys of HTTP are
   * @throws StartRefusedException naming the key, and what to set instead
   */
  public static void check(Environment environment, String http) {
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      if (source instanceof IterableConfigurationPropertySource keys) {
        keys.stream()
            .filter(ServerKeys::isOfAnother)
            .findFirst()
            .ifPresent(key -> refuse(key, http));
      }
    }
  }

  private static boolean isOfAnother(ConfigurationPropertyName key) {
    return SERVER.isAncestorOf(key)
        && (OTHERS.contains(key.getElement(1, Form.UNIFORM)) || NAME_BUNDLES.isAncestorOf(key));
  }

  private static void refuse(ConfigurationPropertyName key, String http) {
    int last = key.getNumberOfElements() - 1;
    String instead =
        key.getElement(1, Form.UNIFORM).equals("tomcat")
            ? INSTEAD.get(key.getElement(last, Form.UNIFORM))
            : null;
    throw new StartRefusedException(
        "'" + key + "' is set, which the server of this port does not have.",
        instead == null
            ? "Remove it; a proxy before the server may do what it asks for."
            : "Set " + http + "." + instead + " instead.");
  }
}
