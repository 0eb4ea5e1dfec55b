package dev.roundhouse.node.devices;

import dev.roundhouse.node.devices.GpuChoice.Auto;
import dev.roundhouse.node.devices.GpuChoice.Count;
import dev.roundhouse.node.devices.GpuChoice.Ids;
import dev.roundhouse.platform.config.StartRefusedException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Finds the GPUs to use. The first of these that has an answer decides, in upstream's order: the
 * variable {@code REACTANT_GPUS}, the configuration, {@code CUDA_VISIBLE_DEVICES}, each source in
 * turn.
 */
public final class Discovery {
  static final String GPUS_VARIABLE = "REACTANT_GPUS";
  static final String VISIBLE_VARIABLE = "CUDA_VISIBLE_DEVICES";
  public static final String GPUS_KEY = "roundhouse.node.devices.gpus";
  private static final String PLATFORM_KEY = "roundhouse.node.devices.platform";

  /** What a node's workers are to run on. */
  public enum Platform {
    /** GPUs if any are found, else the CPU. */
    AUTO,
    /** The CPU, whatever is found. */
    CPU,
    /** GPUs; finding none stops the start. */
    CUDA
  }

  private final Map<String, String> environment;
  private final List<DeviceSource> sources;

  /**
   * @param sources in the order in which they are tried
   */
  public Discovery(Map<String, String> environment, List<DeviceSource> sources) {
    this.environment = environment;
    this.sources = List.copyOf(sources);
  }

  /**
   * @param configured as written in the configuration
   * @throws StartRefusedException when GPUs are required and there are none, or a setting is
   *     invalid
   */
  public Found find(String configured, Platform platform) {
    String variable = environment.getOrDefault(GPUS_VARIABLE, "").trim();
    String where = variable.isEmpty() ? GPUS_KEY : GPUS_VARIABLE;
    GpuChoice choice = parse(where, variable.isEmpty() ? configured : variable);
    Found found =
        switch (choice) {
          case Count(int count) when count == 0 -> new Found(List.of(), where, true);
          case Auto auto when platform == Platform.CPU -> new Found(List.of(), PLATFORM_KEY, true);
          case Count(int count) -> first(count, where);
          case Ids(List<String> ids) -> new Found(ids, where, true);
          case Auto auto -> search();
        };
    if (platform == Platform.CPU && !found.onCpu()) {
      throw new StartRefusedException(
          where + " asks for GPUs and " + PLATFORM_KEY + " is cpu.", "Remove one of the two.");
    }
    if (platform == Platform.CUDA && found.onCpu()) {
      throw new StartRefusedException(
          PLATFORM_KEY + " is cuda and no GPU was found: asked were " + asked(choice, where) + ".",
          "Give the container its GPUs (docker run --gpus all, nvidia.com/gpu in Kubernetes), name"
              + " them by "
              + GPUS_KEY
              + ", or set "
              + PLATFORM_KEY
              + "=cpu to serve from the CPU.");
    }
    return found;
  }

  private static GpuChoice parse(String where, String text) {
    try {
      return GpuChoice.parse(where, text);
    } catch (IllegalArgumentException e) {
      throw new StartRefusedException(
          String.valueOf(e.getMessage()), "Write auto, a count (0 for the CPU), or a list of ids.");
    }
  }

  /** The first so many that can be found; by number where no source knows any. */
  private Found first(int count, String where) {
    Found all = search();
    if (all.onCpu()) {
      List<String> numbers = IntStream.range(0, count).mapToObj(Integer::toString).toList();
      return new Found(numbers, where, true);
    }
    if (all.gpus().size() < count) {
      throw new StartRefusedException(
          "%s asks for %d GPUs and %s has %d."
              .formatted(where, count, all.source(), all.gpus().size()),
          "Ask for at most " + all.gpus().size() + ", or give this machine more.");
    }
    return new Found(all.gpus().subList(0, count), where + " of " + all.source(), all.numbered());
  }

  private Found search() {
    String visible = environment.get(VISIBLE_VARIABLE);
    if (visible != null) {
      return new Found(visible(visible), VISIBLE_VARIABLE, false);
    }
    for (DeviceSource source : sources) {
      List<String> ids = source.ids();
      if (!ids.isEmpty()) {
        return new Found(ids, source.name(), true);
      }
    }
    return new Found(List.of(), "nothing", true);
  }

  /** As CUDA reads it: an invalid id ends the list. */
  private static List<String> visible(String value) {
    return Arrays.stream(value.split(","))
        .map(String::trim)
        .takeWhile(id -> id.matches("[0-9]+|(GPU|MIG)-\\S+"))
        .distinct()
        .toList();
  }

  private String asked(GpuChoice choice, String where) {
    if (!(choice instanceof Auto)) {
      return where;
    }
    return environment.containsKey(VISIBLE_VARIABLE)
        ? VISIBLE_VARIABLE + ", which is '" + environment.get(VISIBLE_VARIABLE) + "'"
        : String.join(", ", sources.stream().map(DeviceSource::name).toList());
  }
}
