package dev.roundhouse.gateway.fleet;

import java.net.SocketAddress;
import java.util.Collections;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A worker as it was last seen. Immutable.
 *
 * @param name that operators know it by; ties are decided by it
 * @param address of its gRPC port
 * @param ready whether it takes requests
 * @param stream where it takes tensor streams; null when it takes none
 * @param models by name; not copied, for there may be ten thousand, and not changed any more
 */
public record WorkerView(
    String name,
    SocketAddress address,
    @Nullable SocketAddress stream,
    boolean ready,
    Map<String, ModelView> models) {
  public WorkerView {
    models = Collections.unmodifiableMap(models);
  }

  /** One that takes no tensor streams. */
  public WorkerView(
      String name, SocketAddress address, boolean ready, Map<String, ModelView> models) {
    this(name, address, null, ready, models);
  }

  /** True when it can answer a request of the model. */
  public boolean serves(String model) {
    ModelView view = models.get(model);
    return ready && view != null && view.ready();
  }
}
