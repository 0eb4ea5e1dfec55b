package dev.roundhouse.gateway.schedule;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.roundhouse.gateway.fleet.WorkerAddress;
import dev.roundhouse.gateway.fleet.WorkerLink;
import dev.roundhouse.gateway.fleet.WorkerLook;
import dev.roundhouse.gateway.fleet.WorkerStatus;
import dev.roundhouse.gateway.fleet.WorkerTls;
import dev.roundhouse.gateway.placement.ModelDemand;
import dev.roundhouse.gateway.placement.Packing;
import dev.roundhouse.gateway.placement.Placement;
import dev.roundhouse.gateway.placement.WorkerRoom;
import dev.roundhouse.gateway.route.Ejection;
import dev.roundhouse.gateway.route.Hedging;
import dev.roundhouse.gateway.route.Mode;
import dev.roundhouse.gateway.route.ModelRoutes;
import dev.roundhouse.gateway.route.RouteListener;
import dev.roundhouse.kserve.control.proto.ModelControlStatusResponse;
import dev.roundhouse.kserve.control.proto.ModelStatus;
import dev.roundhouse.platform.telemetry.SpanExport;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.slf4j.LoggerFactory;

/**
 * Takes lines {@code floor|pack|look MODELS WORKERS} on its standard input, does it once, and
 * prints how many milliseconds that took. For {@code ./roundhouse bench node-placement}.
 */
public final class PlacementFigures {
  private static final long SEED = 20261123;
  private static final long ROOM = 80L << 30;

  private final List<ModelDemand> demands = new ArrayList<>();
  private final List<WorkerRoom> rooms = new ArrayList<>();
  private final List<WorkerLook> looks = new ArrayList<>();
  private final ModelRoutes routes;
  private final Placer placer;
  private Placement placement = Placement.NONE;

  /** Models are called as Zipf has it, and have from 1 MiB to 128 MiB of weights. */
  private PlacementFigures(int models, int workers) {
    Random random = new Random(SEED);
    Set<String> hosts = new TreeSet<>();
    for (int i = 0; i < workers; i++) {
      hosts.add("w%02d".formatted(i));
    }
    Map<String, Boolean> index = new HashMap<>();
    ModelControlStatusResponse.Builder status =
        ModelControlStatusResponse.newBuilder().setWeightCacheMaxBytes(ROOM);
    for (int i = 0; i < models; i++) {
      String name = "model-%05d".formatted(i);
      long bytes = 1L << (20 + random.nextInt(8));
      demands.add(new ModelDemand(name, 1.0 / (1 + i), bytes, 1, hosts));
      index.put(name, true);
      status.addModels(
          ModelStatus.newBuilder()
              .setName(name)
              .setWeightNbytes(bytes)
              .setMaxBatchSize(16)
              .setRequestsServed(models / (1 + i))
              .setRowsServed(models / (1 + i))
              .setTotalComputeSeconds(1.0 / (1 + i)));
    }
    for (String host : hosts) {
      rooms.add(new WorkerRoom(host, ROOM));
      InetSocketAddress nowhere = InetSocketAddress.createUnresolved("localhost", 1);
      looks.add(
          new WorkerLook(
              new WorkerLink(
                  new WorkerAddress(host, nowhere, nowhere, nowhere),
                  WorkerTls.NONE,
                  Duration.ofSeconds(8)),
              nowhere,
              true,
              index,
              Optional.of(WorkerStatus.of(status.build())),
              "",
              false));
    }
    routes =
        new ModelRoutes(
            Placer.settings(Mode.LPT_PACKING, PolicyChangeTest.DEFAULTS, Map.of()),
            () -> {},
            new Ejection(0, 1, System::nanoTime, InstantSource.system()),
            Hedging.OFF,
            RouteListener.NONE,
            SpanExport.OFF,
            false,
            null);
    placer =
        new Placer(
            routes,
            Mode.LPT_PACKING,
            PolicyChangeTest.DEFAULTS,
            Map.of(),
            (worker, reload) -> {},
            System::nanoTime,
            System::currentTimeMillis);
  }

  public static void main(String[] arguments) throws IOException {
    ((Logger) LoggerFactory.getLogger("ROOT")).setLevel(Level.WARN); // lines are answers here
    Map<String, PlacementFigures> sizes = new HashMap<>();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    System.out.println("ready");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ", 3);
      PlacementFigures figures =
          sizes.computeIfAbsent(
              words[1] + " " + words[2],
              size -> new PlacementFigures(Integer.parseInt(words[1]), Integer.parseInt(words[2])));
      System.out.println(figures.millis(words[0]));
    }
  }

  private double millis(String what) {
    Function<PlacementFigures, Integer> work =
        switch (what) {
          case "floor" -> PlacementFigures::floor;
          case "pack" -> PlacementFigures::pack;
          case "look" -> PlacementFigures::look;
          default -> throw new IllegalArgumentException("floor, pack or look, got " + what);
        };
    long began = System.nanoTime();
    int models = work.apply(this);
    long nanos = System.nanoTime() - began;
    if (models != demands.size()) {
      throw new IllegalStateException(
          "%d of %d models were placed".formatted(models, demands.size()));
    }
    return nanos / 1e6;
  }

  /** What no placement of the busiest first can do without. */
  private int floor() {
    record Load(String worker, double utilization) {}
    PriorityQueue<Load> least = new PriorityQueue<>(Comparator.comparingDouble(Load::utilization));
    rooms.forEach(room -> least.add(new Load(room.name(), 0)));
    Map<String, String> homes = HashMap.newHashMap(demands.size());
    for (ModelDemand model :
        demands.stream()
            .sorted(Comparator.comparingDouble(ModelDemand::utilization).reversed())
            .toList()) {
      Load load = least.remove();
      homes.put(model.name(), load.worker());
      least.add(new Load(load.worker(), load.utilization() + model.utilization()));
    }
    return homes.size();
  }

  private int pack() {
    placement = Packing.pack(demands, rooms, placement, 0.1, true);
    return placement.models().size();
  }

  private int look() {
    placer.seen(looks);
    return (int)
        demands.stream().filter(model -> !routes.fleet().serving(model.name()).isEmpty()).count();
  }
}
