package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.model.ModelState;
import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.platform.lifecycle.ReadinessChanged;
import dev.roundhouse.platform.logging.Announcer;
import dev.roundhouse.worker.lifecycle.EngineLifecycle;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.transport.Transports;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.event.EventListener;

/**
 * Prints one line when every port is open and every model has finished loading, which scripts wait
 * for; before it, one line for each model that failed. Where those hold back readiness, the line
 * says so, and the one that scripts wait for comes when the worker is ready.
 */
final class ReadyLine {
  private final Engine engine;
  private final EngineLifecycle lifecycle;
  private final Readiness readiness;
  private final Transports transports;
  private final Announcer announcer;
  private volatile boolean open;
  private boolean toldReady;
  private boolean toldUnready;

  ReadyLine(
      Engine engine,
      EngineLifecycle lifecycle,
      Readiness readiness,
      Transports transports,
      Announcer announcer) {
    this.engine = engine;
    this.lifecycle = lifecycle;
    this.readiness = readiness;
    this.transports = transports;
    this.announcer = announcer;
  }

  @EventListener
  void onApplicationReady(ApplicationReadyEvent event) {
    open = true;
    var unused = lifecycle.loaded().thenRun(this::print);
  }

  @EventListener
  void onReadinessChanged(ReadinessChanged change) {
    if (change.ready() && lifecycle.loaded().isDone()) {
      print();
    }
  }

  private synchronized void print() {
    boolean ready = readiness.isReady();
    if (!open || readiness.isStopping() || toldReady || (toldUnready && !ready)) {
      return;
    }
    toldReady = ready;
    toldUnready = !ready;
    List<ModelStatus> models = engine.reports().models();
    List<ModelStatus> failed =
        models.stream().filter(model -> model.state() == ModelState.FAILED).toList();
    String ports =
        transports.ports().entrySet().stream()
            .map(port -> port.getKey() + "=" + port.getValue())
            .collect(Collectors.joining(" "));
    long millis = ManagementFactory.getRuntimeMXBean().getUptime();
    List<String> lines = new ArrayList<>();
    for (ModelStatus model : failed) {
      lines.add("failed model=%s reason=%s".formatted(model.name(), model.reason()));
    }
    lines.add(
        String.format(
            Locale.ROOT,
            "%s %s models=%d failed=%d seconds=%.1f",
            ready ? "ready" : "not-ready",
            ports,
            models.size() - failed.size(),
            failed.size(),
            millis / 1000.0));
    announcer.tell(lines.toArray(String[]::new));
  }
}
