package dev.roundhouse.node;

import dev.roundhouse.node.upstream.UpstreamSettings;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;

/** Runs one node. */
@SpringBootApplication
public class NodeApplication {
  private static final String USAGE =
      """
      Usage: java -jar node-supervisor.jar [--KEY=VALUE ...]

      Finds the devices of this machine, starts one worker process for each, and a gateway before them when there is
      more than one. Starts again what ends. Prints one line 'ready ...' when the gateway, or the only worker, is
      ready. SIGTERM stops the gateway, then the workers, each with time to answer what it has taken.

        --roundhouse.node.devices.gpus=auto|COUNT|IDS    which GPUs (REACTANT_GPUS wins); 0 for the CPU
        --roundhouse.node.devices.cpu-workers=N          workers where there is no GPU (default 1)
        --roundhouse.node.ports.grpc=8001                and http=8000, metrics=8002, node=8003; 0 takes a free one
        --roundhouse.node.worker.jar=FILE                and gateway.jar; default: beside this jar
        --roundhouse.worker.KEY=VALUE                    passed on to every worker
        --roundhouse.gateway.KEY=VALUE                   passed on to the gateway

      All keys: docs/configuration-node.md. How it behaves: docs/node.md. Status: GET /actuator/node on the node's port.
      """;

  public static void main(String[] args) {
    if (isHelp(args)) {
      help(System.out);
      return;
    }
    application().run(args);
  }

  /**
   * With what a document that configures the other applications too must not say to this one, and,
   * below everything that is said in our own keys, what upstream's files and variables say.
   */
  public static SpringApplication application() {
    SpringApplication application = new SpringApplication(NodeApplication.class);
    application.addInitializers(
        context -> {
          MutablePropertySources sources = context.getEnvironment().getPropertySources();
          context
              .getBeanFactory()
              .registerSingleton("managementAddress", ManagementAddress.takenFrom(sources));
          sources.addFirst(
              new MapPropertySource(
                  "node",
                  Map.of("spring.grpc.server.enabled", "false", "management.server.port", "")));
          Map<String, Object> upstream = new LinkedHashMap<>(UpstreamSettings.of(System.getenv()));
          sources.addLast(new MapPropertySource(UpstreamSettings.SOURCE, upstream));
        });
    return application;
  }

  static boolean isHelp(String[] args) {
    return List.of(args).contains("--help") || List.of(args).contains("-h");
  }

  static void help(PrintStream out) {
    out.print(USAGE);
    out.flush();
  }
}
