package dev.roundhouse.platform.access;

import jakarta.validation.Valid;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Who may do what, by category: any of `open`, `loopback`, `token` and `mtls`, one of which is
 * enough, or `off`. Unset: what only reads is open, and what changes something is taken from this
 * machine's loopback address and from identities that may ([security.md](security.md)).
 *
 * @param health Liveness and readiness.
 * @param metadata Metadata, configurations and the index of models; reflection.
 * @param inference Inference, over gRPC and HTTP.
 * @param statistics Statistics of models.
 * @param sharedMemory Status, registration and end of shared memory.
 * @param modelRepository Loading and unloading of models, at the operators' port too.
 * @param trace Trace settings.
 * @param logging Log settings.
 * @param control ControlService, and what changes weights, residency, placement, drain and
 *     recordings at the operators' port.
 * @param jwt Tokens of an OpenID provider.
 * @param identities Callers that are known, by names of your choice.
 * @param gatewayKeyFiles Files with a secret each, of 32 characters and more, which gateways sign
 *     with whom they pass calls on for. The first signs, all are believed, and they are read again
 *     when they change. Gateways and workers need the same.
 */
public record AccessProperties(
    @Nullable Set<AccessRule> health,
    @Nullable Set<AccessRule> metadata,
    @Nullable Set<AccessRule> inference,
    @Nullable Set<AccessRule> statistics,
    @Nullable Set<AccessRule> sharedMemory,
    @Nullable Set<AccessRule> modelRepository,
    @Nullable Set<AccessRule> trace,
    @Nullable Set<AccessRule> logging,
    @Nullable Set<AccessRule> control,
    @Valid @DefaultValue JwtProperties jwt,
    @DefaultValue Map<String, @Valid IdentityProperties> identities,
    @DefaultValue List<Path> gatewayKeyFiles) {

  public AccessProperties {
    identities = Map.copyOf(identities);
    gatewayKeyFiles = List.copyOf(gatewayKeyFiles);
  }

  /** What is set, of categories that have a rule. */
  Map<ApiCategory, Set<AccessRule>> rules() {
    Map<ApiCategory, Set<AccessRule>> set = new EnumMap<>(ApiCategory.class);
    put(set, ApiCategory.HEALTH, health);
    put(set, ApiCategory.METADATA, metadata);
    put(set, ApiCategory.INFERENCE, inference);
    put(set, ApiCategory.STATISTICS, statistics);
    put(set, ApiCategory.SHARED_MEMORY, sharedMemory);
    put(set, ApiCategory.MODEL_REPOSITORY, modelRepository);
    put(set, ApiCategory.TRACE, trace);
    put(set, ApiCategory.LOGGING, logging);
    put(set, ApiCategory.CONTROL, control);
    return set;
  }

  private static void put(
      Map<ApiCategory, Set<AccessRule>> to, ApiCategory category, @Nullable Set<AccessRule> rules) {
    if (rules != null && !rules.isEmpty()) {
      to.put(category, Set.copyOf(rules));
    }
  }
}
