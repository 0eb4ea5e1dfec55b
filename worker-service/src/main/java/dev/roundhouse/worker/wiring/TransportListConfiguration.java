package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.rest.HttpFront;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.actuator.TransportMeterBinder;
import dev.roundhouse.worker.config.WorkerProperties;
import dev.roundhouse.worker.lifecycle.Readiness;
import dev.roundhouse.worker.tee.learner.LearnerServer;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.Transports;
import dev.roundhouse.worker.transport.added.AddedTransports;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/** All transports, as one list, and what starts and stops them. */
@Configuration(proxyBeanMethods = false)
class TransportListConfiguration {
  private static final String V1 = WorkerProperties.PREFIX + ".v1";
  private static final String FOLDER = WorkerProperties.PREFIX + ".server.transports-directory";

  @Bean
  GrpcTransport grpcTransport() {
    return new GrpcTransport();
  }

  @Bean
  AddedTransports addedTransports(
      WorkerProperties properties,
      Inference inference,
      Access access,
      ClientText texts,
      PeerMemory memory,
      Readiness readiness) {
    return AddedTransports.open(
        new AddedTransports.Wanted(
            properties.server().transportsDirectory(),
            FOLDER,
            WorkerProperties.PREFIX + ".transports",
            properties.transports(),
            Set.of(
                "grpc", "http", "rest", "metrics", "stream", "tstream", "v1-grpc", "v1-http",
                "tee")),
        new AddedTransports.Services(
            inference,
            access,
            texts,
            memory,
            StreamConfiguration.ofGrpcShare(properties, properties.server().maxConnections()),
            WorkerProperties.PREFIX + ".server.max-connections",
            readiness::isReady));
  }

  @Bean
  TransportMeterBinder transportMeters(AddedTransports added) {
    return new TransportMeterBinder(added);
  }

  @Bean
  Transports transports(
      GrpcTransport grpc,
      HttpFront front,
      WorkerProperties properties,
      Environment environment,
      ObjectProvider<ServerTransport> v1Grpc,
      ObjectProvider<HttpTransport> v1Http,
      ObjectProvider<StreamServer> streams,
      AddedTransports added,
      ObjectProvider<LearnerServer> learners) {
    if (properties.v1().hasOwnPorts() && !properties.v1().enabled()) {
      throw new StartRefusedException(
          V1 + " has a port of its own, and " + V1 + ".enabled is not true.",
          "Write " + V1 + ".enabled=true, or remove the ports.");
    }
    List<Transport> all = new ArrayList<>();
    all.add(grpc);
    all.add(new HttpTransport("http", front, true));
    all.add(new OperatorsTransport(environment));
    v1Grpc.ifAvailable(all::add);
    v1Http.ifAvailable(all::add);
    streams.ifAvailable(all::add);
    all.addAll(added.all());
    learners.ifAvailable(all::add); // the last to stop: what the others answer still comes to them
    return new Transports(all);
  }

  /**
   * @param server started before this, and stopped after
   */
  @Bean
  TransportLifecycle transportLifecycle(
      Transports transports,
      WorkerProperties properties,
      ApplicationContext context,
      GrpcServerLifecycle server) {
    return new TransportLifecycle(
        transports,
        properties.shutdown().drain().plus(TransportConfiguration.LAST_ANSWERS),
        context);
  }
}
