package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.lifecycle.WorkersDetails.Hedges;
import dev.roundhouse.gateway.lifecycle.WorkersDetails.LastEjection;
import dev.roundhouse.gateway.lifecycle.WorkersDetails.WorkerDetails;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.EjectionReport;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.WorkLedger;
import dev.roundhouse.gateway.route.WorkerCalls;
import java.net.InetSocketAddress;
import java.util.Comparator;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/** {@code /actuator/workers}: how the gateway sees each worker, and why it leaves one alone. */
@Endpoint(id = "workers")
public final class WorkersEndpoint {
  private final Workers workers;
  private final ModelRoutes routes;
  private final Ejection ejection;

  public WorkersEndpoint(Workers workers, ModelRoutes routes, Ejection ejection) {
    this.workers = workers;
    this.routes = routes;
    this.ejection = ejection;
  }

  @ReadOperation
  public WorkersDetails read() {
    return new WorkersDetails(
        workers.all().stream()
            .sorted(Comparator.comparing(look -> look.link().name()))
            .map(this::details)
            .toList());
  }

  private WorkerDetails details(WorkerLook look) {
    String name = look.link().name();
    InetSocketAddress address = look.link().worker().grpc();
    EjectionReport report = ejection.report(name);
    EjectionReport.Last last = report.last();
    WorkLedger ledger = routes.ledger(name);
    WorkerCalls calls = routes.calls(name);
    return new WorkerDetails(
        name,
        address.getHostString() + ":" + address.getPort(),
        look.ready(),
        look.ready() ? "" : look.failure().isEmpty() ? "it says so" : look.failure(),
        workers.since(name).orElse(null),
        look.models().size(),
        (int) look.models().values().stream().filter(Boolean::booleanValue).count(),
        ledger.nanos() / 1e9,
        ledger.open(),
        calls.answered(),
        calls.failed(),
        report.ejected(),
        report.failuresInRow(),
        report.ejections(),
        last == null
            ? null
            : new LastEjection(
                last.status(), last.text(), last.failures(), last.at(), last.until()),
        calls.followed(),
        new Hedges(calls.hedged(), calls.taken(), calls.won()));
  }
}
