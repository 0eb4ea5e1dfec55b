package dev.roundhouse.worker.transport;

import dev.roundhouse.platform.access.AccessProperties;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.worker.config.TenantProperties;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The tenants of a worker, and their numbers in the engine. Immutable. */
public final class Tenants {
  /** Of callers without a tenant, or with one that is not known here. */
  public static final String DEFAULT = "default";

  private static final int MOST = 64;

  private final List<String> names;
  private final Map<String, Integer> numbers = new HashMap<>();
  private final double[] weights;

  private Tenants(Map<String, TenantProperties> settings) {
    names = new ArrayList<>(List.of(DEFAULT));
    TreeSet<String> others = new TreeSet<>(settings.keySet());
    others.remove(DEFAULT);
    names.addAll(others);
    weights = new double[names.size()];
    for (int number = 0; number < weights.length; number++) {
      TenantProperties own = settings.get(names.get(number));
      weights[number] = own == null ? 1 : own.weight();
      numbers.put(names.get(number), number);
    }
  }

  /**
   * @throws StartRefusedException when there are too many, or an identity has one that is not here
   */
  public static Tenants of(
      Map<String, TenantProperties> settings, AccessProperties access, String prefix) {
    if (settings.size() > MOST) {
      throw new StartRefusedException(
          "%s.tenants has %d tenants; there may be %d.".formatted(prefix, settings.size(), MOST),
          "Have several share one, or start another worker for some.");
    }
    Tenants tenants = new Tenants(settings);
    access
        .identities()
        .forEach(
            (name, identity) -> {
              String tenant = identity.tenant();
              if (!tenant.isEmpty() && !tenants.numbers.containsKey(tenant)) {
                throw new StartRefusedException(
                    "%s.access.identities.%s.tenant is '%s', and %s.tenants has %s."
                        .formatted(prefix, name, tenant, prefix, tenants.names),
                    "Write %s.tenants.%s.weight=1, or name another tenant."
                        .formatted(prefix, tenant));
              }
            });
    return tenants;
  }

  /** Names by number. */
  public List<String> names() {
    return List.copyOf(names);
  }

  /** Weights by number; one when nobody is told apart. */
  public double[] weights() {
    return weights.clone();
  }

  /** Whether there are several. */
  public boolean areSeveral() {
    return weights.length > 1;
  }

  /**
   * @param caller null when nothing is known of it
   */
  int numberOf(@Nullable CallerRights caller) {
    return caller == null || weights.length == 1 ? 0 : numbers.getOrDefault(caller.tenant(), 0);
  }
}
