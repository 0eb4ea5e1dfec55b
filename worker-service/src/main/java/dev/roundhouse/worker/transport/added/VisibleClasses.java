package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.transport.TransportProvider;
import java.util.List;

/**
 * What a transport's jar sees of the worker: the API, and SLF4J to log by. Everything else it
 * brings itself, in whatever version: it meets none of the worker's.
 */
final class VisibleClasses extends ClassLoader {
  private static final List<String> VISIBLE =
      List.of(
          "dev.roundhouse.engine.transport.",
          "dev.roundhouse.engine.request.",
          "dev.roundhouse.engine.model.ModelSt", // ModelState, ModelStatus
          "dev.roundhouse.engine.ServingRules",
          "dev.roundhouse.engine.queue.QueueRules",
          "dev.roundhouse.bundle.",
          "org.slf4j.",
          "org.jspecify.");

  static {
    registerAsParallelCapable();
  }

  VisibleClasses() {
    super("transports", getPlatformClassLoader());
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    if (VISIBLE.stream().anyMatch(name::startsWith)) {
      return Class.forName(name, false, TransportProvider.class.getClassLoader());
    }
    throw new ClassNotFoundException(
        name + ": a transport's jar brings what is neither the JDK's nor the API's");
  }
}
