package dev.roundhouse.gateway.wiring;

import dev.roundhouse.gateway.calls.ControlFleet;
import dev.roundhouse.gateway.calls.FleetCalls;
import dev.roundhouse.gateway.calls.SharedRegions;
import dev.roundhouse.gateway.config.EjectionProperties;
import dev.roundhouse.gateway.config.GatewayProperties;
import dev.roundhouse.gateway.config.HedgingProperties;
import dev.roundhouse.gateway.config.TlsProperties;
import dev.roundhouse.gateway.fleet.CurrentKeys;
import dev.roundhouse.gateway.fleet.CurrentTrust;
import dev.roundhouse.gateway.fleet.FleetWatch;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.fleet.Workers;
import dev.roundhouse.gateway.lifecycle.GatewayFailure;
import dev.roundhouse.gateway.lifecycle.GatewayMeters;
import dev.roundhouse.gateway.lifecycle.GatewayReadiness;
import dev.roundhouse.gateway.lifecycle.WorkersEndpoint;
import dev.roundhouse.gateway.lifecycle.WorkersHealth;
import dev.roundhouse.gateway.payload.PayloadCopies;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.Hedging;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.schedule.Placer;
import dev.roundhouse.gateway.schedule.Policy;
import dev.roundhouse.gateway.schedule.SchedulingControl;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.actuator.SpanMeters;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.grpc.PortLoad;
import dev.roundhouse.platform.grpc.SealedCalls;
import dev.roundhouse.platform.lifecycle.LameDuck;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.rest.HttpFront;
import dev.roundhouse.platform.rest.HttpServerSettings;
import dev.roundhouse.platform.telemetry.SpanExport;
import dev.roundhouse.transport.forward.ForwardingBudget;
import io.micrometer.core.instrument.MeterRegistry;
import java.security.GeneralSecurityException;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import javax.net.ssl.SSLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.info.BuildProperties;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.boot.ssl.SslManagerBundle;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.util.unit.DataSize;

/** The workers, and which of them gets a request. */
@Configuration(proxyBeanMethods = false)
class FleetConfiguration {
  private static final Logger log = LoggerFactory.getLogger(FleetConfiguration.class);

  /** Asks for a look before there is something that looks. */
  static final class Refresh implements Runnable {
    private final AtomicReference<Runnable> target = new AtomicReference<>(() -> {});

    @Override
    public void run() {
      target.get().run();
    }
  }

  @Bean
  Refresh refresh() {
    return new Refresh();
  }

  @Bean
  Workers workers() {
    return new Workers(InstantSource.system());
  }

  @Bean
  PortLoad portLoad() {
    return new PortLoad();
  }

  @Bean
  WorkerTls workerTls(GatewayProperties properties, SslBundles bundles) {
    TlsProperties tls = properties.tls();
    if (tls.bundle().isEmpty()) {
      if (!tls.serverName().isEmpty()) {
        throw new StartRefusedException(
            "roundhouse.gateway.tls.server-name is '%s', and workers are spoken to in plain text."
                .formatted(tls.serverName()),
            "Set roundhouse.gateway.tls.bundle, or remove it.");
      }
      return WorkerTls.NONE;
    }
    try {
      SslManagerBundle managers = bundles.getBundle(tls.bundle()).getManagers();
      CurrentKeys keys = new CurrentKeys(managers.getKeyManagerFactory());
      CurrentTrust trusted = new CurrentTrust(managers.getTrustManagerFactory());
      bundles.addBundleUpdateHandler(
          tls.bundle(), renewed -> renew(tls.bundle(), renewed.getManagers(), keys, trusted));
      return WorkerTls.of(keys, trusted, tls.serverName());
    } catch (NoSuchSslBundleException | GeneralSecurityException | SSLException e) {
      throw new StartRefusedException(
          "roundhouse.gateway.tls.bundle is '%s', which cannot be used: %s."
              .formatted(tls.bundle(), e.getMessage()),
          "See spring.ssl.bundle." + tls.bundle() + ".");
    }
  }

  /** For the connections that are made from now on. */
  private static void renew(
      String name, SslManagerBundle renewed, CurrentKeys keys, CurrentTrust trusted) {
    try {
      trusted.use(renewed.getTrustManagerFactory());
      keys.use(renewed.getKeyManagerFactory());
    } catch (GeneralSecurityException | RuntimeException e) {
      log.error(
          "workers: the renewed SSL bundle '{}' cannot be used; the one before stays", name, e);
    }
  }

  @Bean
  ForwardingBudget forwardingBudget(GatewayProperties properties) {
    DataSize wanted = properties.server().maxHeld();
    return new ForwardingBudget(
        wanted == null ? ForwardingBudget.directBytes() / 2 : wanted.toBytes(),
        "raise roundhouse.gateway.server.max-held");
  }

  @Bean
  Ejection ejection(GatewayProperties properties) {
    EjectionProperties settings = properties.ejection();
    return new Ejection(
        settings.failures(), settings.time().toNanos(), System::nanoTime, InstantSource.system());
  }

  @Bean
  Hedging hedging(GatewayProperties properties) {
    HedgingProperties settings = properties.hedging();
    if (settings.quantile() > 0 && settings.delay().isZero()) {
      throw new StartRefusedException(
          "roundhouse.gateway.hedging.quantile is %s, and hedging.delay is 0: nothing is sent twice."
              .formatted(settings.quantile()),
          "Set roundhouse.gateway.hedging.delay to the least that a call is to wait, such as 5ms, or remove it.");
    }
    return new Hedging(settings.delay().toNanos(), settings.quantile(), settings.maxShare());
  }

  @Bean
  GatewayMeters gatewayMeters(
      MeterRegistry meters,
      PortLoad load,
      ForwardingBudget memory,
      Ejection ejection,
      Hedging hedging) {
    return new GatewayMeters(meters, load, memory, ejection, hedging);
  }

  @Bean
  ModelRoutes modelRoutes(
      GatewayProperties properties,
      Refresh refresh,
      Ejection ejection,
      Hedging hedging,
      GatewayMeters meters,
      SpanExport spans,
      ObjectProvider<PayloadLog> payloads) {
    var scheduling = properties.scheduling();
    return new ModelRoutes(
        Placer.settings(scheduling.mode(), Policies.of(scheduling), Policies.models(scheduling)),
        refresh,
        ejection,
        hedging,
        meters,
        spans,
        properties.v1().enabled(),
        payloads.stream().map(PayloadCopies::new).findFirst().orElse(null));
  }

  @Bean
  SpanExport spanExport(GatewayProperties properties, ObjectProvider<BuildProperties> build) {
    String version = build.stream().map(BuildProperties::getVersion).findFirst().orElse("unknown");
    return SpanExport.of(
        properties.telemetry(),
        GatewayProperties.PREFIX + ".telemetry",
        "roundhouse-gateway",
        version);
  }

  @Bean
  SpanMeters spanMeters(SpanExport spans) {
    return new SpanMeters(spans);
  }

  @Bean
  ControlFleet controlFleet(Workers workers, GatewayProperties properties, Refresh refresh) {
    return new ControlFleet(workers, properties.health().timeout(), refresh);
  }

  @Bean
  FleetCalls fleetCalls(Workers workers, GatewayProperties properties, Refresh refresh) {
    return new FleetCalls(workers, properties.health().timeout(), refresh);
  }

  @Bean
  SharedRegions sharedRegions(Workers workers, GatewayProperties properties) {
    return new SharedRegions(workers, properties.health().timeout());
  }

  @Bean
  Placer placer(
      ModelRoutes routes,
      GatewayProperties properties,
      ControlFleet control,
      GatewayMeters meters) {
    Policy policy = Policies.of(properties.scheduling());
    Placer placer =
        new Placer(
            routes,
            properties.scheduling().mode(),
            policy,
            Policies.models(properties.scheduling()),
            control::compactLater,
            System::nanoTime,
            System::currentTimeMillis);
    meters.watch(placer);
    return placer;
  }

  @Bean
  SchedulingControl schedulingControl(Placer placer, ModelRoutes routes, Refresh refresh) {
    return new SchedulingControl(placer, routes, refresh);
  }

  @Bean
  GatewayReadiness gatewayReadiness(Workers workers, ApplicationContext context) {
    return new GatewayReadiness(workers, context);
  }

  @Bean
  GatewayFailure gatewayFailure(
      GatewayReadiness readiness, ApplicationContext context, IntConsumer processExit) {
    return new GatewayFailure(readiness, context, processExit);
  }

  /** What ends the process; a test puts another in its place. */
  @Bean
  @ConditionalOnMissingBean(name = "processExit")
  IntConsumer processExit() {
    return code -> Runtime.getRuntime().halt(code);
  }

  @Bean
  WorkersHealth workersHealthIndicator(
      Workers workers, GatewayReadiness readiness, Ejection ejection) {
    return new WorkersHealth(workers, readiness, ejection);
  }

  @Bean
  WorkersEndpoint workersEndpoint(Workers workers, ModelRoutes routes, Ejection ejection) {
    return new WorkersEndpoint(workers, routes, ejection);
  }

  @Bean
  LameDuck lameDuck(
      ApplicationContext context,
      GatewayReadiness readiness,
      HttpServerSettings operators,
      ObjectProvider<HttpFront> front,
      GatewayProperties properties) {
    Runnable leave =
        () -> {
          readiness.stop();
          operators.leave();
          front.ifAvailable(HttpFront::leave);
        };
    return new LameDuck(context, leave, properties.shutdown().lameDuck());
  }

  @Bean
  FleetWatch fleetWatch(
      GatewayProperties properties,
      Workers workers,
      Placer placer,
      ModelRoutes routes,
      SharedRegions regions,
      GatewayMeters meters,
      GatewayReadiness readiness,
      WorkerTls tls,
      Refresh refresh,
      Access access) {
    FleetWatch watch =
        new FleetWatch(
            Sources.of(properties),
            worker ->
                new WorkerLink(worker, tls, properties.health().timeout(), new SealedCalls(access)),
            properties.health().interval(),
            properties.health().timeout(),
            regions::complete,
            looks -> {
              placer.seen(looks);
              workers.seen(looks);
              meters.seen(looks, placer, routes);
              readiness.refresh();
            });
    refresh.target.set(watch::refresh);
    return watch;
  }

  /** Workers are checked once every port is open, so that readiness is not reported too soon. */
  @Bean
  ApplicationListener<ApplicationReadyEvent> startOfWatch(FleetWatch watch) {
    return started -> watch.start();
  }
}
