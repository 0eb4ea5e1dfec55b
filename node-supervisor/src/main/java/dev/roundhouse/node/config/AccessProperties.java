package dev.roundhouse.node.config;

import dev.roundhouse.platform.access.AccessRule;
import dev.roundhouse.platform.access.IdentityProperties;
import dev.roundhouse.platform.access.JwtProperties;
import jakarta.validation.Valid;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Who may change something at the supervisor's port; workers and the gateway have settings of their
 * own. Any of `loopback`, `token` and `mtls`, one of which is enough, or `off`. Unset: this
 * machine's loopback address, and identities that may ([security.md](security.md)).
 *
 * @param modelRepository Loading and unloading of models.
 * @param control Weights, residency, drain and recordings.
 * @param jwt Tokens of an OpenID provider.
 * @param identities Callers that are known, by names of your choice.
 * @param gatewayKeyFiles Files with a secret each, by which workers believe whom the supervisor
 *     passes changes on for, as `roundhouse.gateway.access.gateway-key-files`.
 */
public record AccessProperties(
    @Nullable Set<AccessRule> modelRepository,
    @Nullable Set<AccessRule> control,
    @Valid @DefaultValue JwtProperties jwt,
    @DefaultValue Map<String, @Valid IdentityProperties> identities,
    @DefaultValue List<Path> gatewayKeyFiles) {

  /** The same for all that the supervisor's port has. */
  public dev.roundhouse.platform.access.AccessProperties all() {
    return new dev.roundhouse.platform.access.AccessProperties(
        null,
        null,
        null,
        null,
        null,
        modelRepository,
        null,
        null,
        control,
        jwt,
        identities,
        gatewayKeyFiles);
  }
}
