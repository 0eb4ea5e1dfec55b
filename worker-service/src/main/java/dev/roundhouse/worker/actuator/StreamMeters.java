package dev.roundhouse.worker.actuator;

import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.platform.metrics.Meters;
import dev.roundhouse.platform.metrics.Metric;
import dev.roundhouse.worker.transport.tstream.StreamLoad;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import dev.roundhouse.worker.transport.tstream.StreamStages;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;

/** Shows what tensor streams do. */
public final class StreamMeters implements MeterBinder {
  private final StreamLoad load;
  private final LatestStages stages;

  public StreamMeters(StreamServer server) {
    load = server.load();
    stages = new LatestStages(server);
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Meters meters = new Meters(registry);
    meters.read(Metric.STREAM_CONNECTIONS_OPEN, load, StreamLoad::connections);
    meters.read(Metric.STREAM_MESSAGES, load, StreamLoad::takenEver);
    stage(meters, "receiving", StreamStages::receiving);
    stage(meters, "waiting", StreamStages::waiting);
    stage(meters, "running", StreamStages::running);
    stage(meters, "sending", StreamStages::sending);
    meters.read(Metric.STREAM_REQUESTS, load, StreamLoad::requestsEver);
    for (HelloStatus status : HelloStatus.values()) {
      if (status != HelloStatus.OK) {
        meters.read(
            Metric.STREAM_HELLOS_REFUSED, load, each -> each.refusedEver(status), label(status));
      }
    }
    for (StreamLoad.End why : StreamLoad.End.values()) {
      meters.read(Metric.STREAM_ENDED, load, each -> each.endedEver(why), label(why));
    }
  }

  private void stage(Meters meters, String name, ToLongFunction<StreamStages> count) {
    meters.read(Metric.STREAM_MESSAGES_OPEN, stages, each -> count.applyAsLong(each.now()), name);
  }

  /** What one look found, for all that one scrape asks for. Thread-safe. */
  private static final class LatestStages {
    private static final long LASTS_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final StreamServer server;
    private StreamStages found = StreamStages.NONE;
    private long lookedNanos = System.nanoTime() - LASTS_NANOS;

    LatestStages(StreamServer server) {
      this.server = server;
    }

    synchronized StreamStages now() {
      if (System.nanoTime() - lookedNanos >= LASTS_NANOS) {
        try {
          found = server.stages();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
        lookedNanos = System.nanoTime();
      }
      return found;
    }
  }

  private static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
