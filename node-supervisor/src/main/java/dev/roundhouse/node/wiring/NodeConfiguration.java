package dev.roundhouse.node.wiring;

import dev.roundhouse.node.ManagementAddress;
import dev.roundhouse.node.NodeApplication;
import dev.roundhouse.node.actuator.NodeEndpoint;
import dev.roundhouse.node.actuator.NodeHealth;
import dev.roundhouse.node.actuator.NodeMeters;
import dev.roundhouse.node.config.DeviceProperties;
import dev.roundhouse.node.config.NodeKeys;
import dev.roundhouse.node.config.NodeProperties;
import dev.roundhouse.node.config.RestartProperties;
import dev.roundhouse.node.config.Role;
import dev.roundhouse.node.devices.DeviceFiles;
import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.devices.Discovery;
import dev.roundhouse.node.devices.Found;
import dev.roundhouse.node.lifecycle.NodeLifecycle;
import dev.roundhouse.node.plan.Jars;
import dev.roundhouse.node.plan.NodePlan;
import dev.roundhouse.node.process.LineForm;
import dev.roundhouse.node.process.OsProcesses;
import dev.roundhouse.node.process.RestartPolicy;
import dev.roundhouse.node.process.Supervisor;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.access.AccessFiles;
import dev.roundhouse.platform.access.AccessStart;
import dev.roundhouse.platform.access.Doors;
import dev.roundhouse.platform.actuator.AccessMeters;
import dev.roundhouse.platform.audit.AuditFile;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.logging.Announcer;
import dev.roundhouse.platform.rest.Browsers;
import dev.roundhouse.platform.rest.HttpServerSettings;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.IntConsumer;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.system.ApplicationHome;
import org.springframework.boot.web.server.ConfigurableWebServerFactory;
import org.springframework.boot.web.server.Ssl;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.server.autoconfigure.ServerProperties;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.Environment;

/** The node's parts. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(NodeProperties.class)
class NodeConfiguration {
  /** A weight or a pin is all that a route here takes. */
  private static final int MOST_BODY_BYTES = 64 << 10;

  private static final Duration STALLED = Duration.ofMinutes(1);

  /** Runs before the first bean is made, so that a typo is reported before anything else. */
  @Bean
  static BeanFactoryPostProcessor unknownKeyCheck(Environment environment) {
    return beans -> NodeKeys.check().check(environment);
  }

  @Bean
  DeviceReaders deviceReaders(NodeProperties properties) {
    return new DeviceReaders(properties.devices());
  }

  @Bean
  Found found(NodeProperties properties, DeviceReaders readers) {
    if (properties.role() == Role.GATEWAY) {
      return new Found(List.of(), "roundhouse.node.role", false);
    }
    DeviceProperties devices = properties.devices();
    return new Discovery(System.getenv(), readers.sources(new DeviceFiles(Path.of("/dev"))))
        .find(devices.gpus(), devices.platform());
  }

  @Bean
  DeviceMonitor deviceMonitor(Found found, DeviceReaders readers) {
    return new DeviceMonitor(found.gpus(), readers.memory(), System::nanoTime);
  }

  @Bean
  NodePlan nodePlan(
      NodeProperties properties,
      Found found,
      DeviceMonitor monitor,
      ConfigurableEnvironment environment) {
    Path own = new ApplicationHome(NodeApplication.class).getDir().toPath();
    return NodePlan.of(properties, found, Passing.of(environment), monitor, new Jars(own));
  }

  @Bean
  Supervisor supervisor(
      NodeProperties properties, NodePlan plan, ConfigurableEnvironment environment) {
    RestartProperties restart = properties.restart();
    return new Supervisor(
        plan.processes(),
        new RestartPolicy(restart.maxBackoff(), restart.resetAfter(), restart.maxRestarts()),
        new OsProcesses(
            System.out,
            Math.toIntExact(properties.log().maxLine().toBytes()),
            Passing.structuredLogs(environment) ? EcsLines::new : LineForm::behind),
        System::nanoTime);
  }

  /** Ends the process; replaced in tests. */
  @Bean
  @ConditionalOnMissingBean(name = "processExit")
  IntConsumer processExit(ApplicationContext context) {
    return code -> System.exit(SpringApplication.exit(context, () -> code));
  }

  @Bean
  NodeLifecycle nodeLifecycle(
      NodeProperties properties,
      NodePlan plan,
      Supervisor supervisor,
      DeviceMonitor monitor,
      ApplicationContext context,
      IntConsumer processExit,
      ManagementAddress management) {
    return new NodeLifecycle(
        plan,
        supervisor,
        monitor,
        operators(properties, management),
        properties.devices().pollInterval(),
        context,
        new Announcer(context.getEnvironment(), System.out),
        processExit);
  }

  @Bean
  NodeEndpoint nodeEndpoint(
      NodeProperties properties,
      NodePlan plan,
      Supervisor supervisor,
      DeviceMonitor monitor,
      NodeLifecycle lifecycle) {
    return new NodeEndpoint(
        plan, supervisor, monitor, lifecycle, properties.restart().maxRestarts());
  }

  @Bean
  NodeMeters nodeMeters(Supervisor supervisor, DeviceMonitor monitor, NodeLifecycle lifecycle) {
    return new NodeMeters(supervisor, monitor, lifecycle);
  }

  @Bean
  NodeHealth nodeHealthIndicator(Supervisor supervisor, NodeLifecycle lifecycle) {
    return new NodeHealth(supervisor, lifecycle);
  }

  /**
   * Ends connections that send or read next to nothing, as on the ports of workers and gateways.
   */
  @Bean
  @ConditionalOnMissingBean
  HttpServerSettings httpServerSettings(Access access) {
    return new HttpServerSettings(MOST_BODY_BYTES, STALLED, new Browsers(List.of(), ""), access);
  }

  @Bean
  Access access(NodeProperties properties, ManagementAddress management, ServerProperties server) {
    String address = operators(properties, management);
    Ssl tls = server.getSsl();
    return AccessStart.open(
        properties.access().all(),
        NodeProperties.PREFIX + ".access",
        false,
        new Doors(
            List.of(
                Doors.door(
                    NodeProperties.PREFIX + ".ports.address",
                    address.isEmpty() ? null : address(address),
                    tls))));
  }

  @Bean
  AccessMeters accessMeters(Access access) {
    return new AccessMeters(access);
  }

  @Bean
  AuditFile auditFile(NodeProperties properties) {
    return new AuditFile(properties.audit(), NodeProperties.PREFIX + ".audit");
  }

  @Bean
  AccessFiles accessFiles(Access access) {
    return new AccessFiles(access);
  }

  /** After Spring's own, whose keys are for the other applications. */
  @Bean
  @Order(Ordered.LOWEST_PRECEDENCE)
  WebServerFactoryCustomizer<ConfigurableWebServerFactory> nodePort(
      NodePlan plan, NodeProperties properties, ManagementAddress management) {
    return server -> {
      server.setPort(plan.ports().node());
      String address = operators(properties, management);
      if (!address.isEmpty()) {
        server.setAddress(address(address));
      }
    };
  }

  /** Address of all operators' ports but those of workers behind a gateway; empty for any. */
  static String operators(NodeProperties properties, ManagementAddress management) {
    String address = properties.ports().address();
    return address.isEmpty() ? management.text() : address;
  }

  private static InetAddress address(String text) {
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException e) { // not of ports.address, which the port plan has resolved
      throw new StartRefusedException(
          "management.server.address is '" + text + "', which is no address of this machine.",
          "Write an address such as 127.0.0.1, or leave it out.");
    }
  }
}
