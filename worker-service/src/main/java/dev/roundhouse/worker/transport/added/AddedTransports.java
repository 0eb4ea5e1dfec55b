package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.transport.ModelCatalogue;
import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.engine.transport.TransportSettings;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.platform.text.ClientText;
import dev.roundhouse.transport.memory.PeerMemory;
import dev.roundhouse.worker.config.TransportProperties;
import dev.roundhouse.worker.transport.Inference;
import dev.roundhouse.worker.transport.added.TransportJars.Found;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The transports that the operator has added, in the order of their names. Immutable. */
public final class AddedTransports {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]{0,31}");

  private final List<AddedTransport> all;

  /**
   * What transports are given, and may do.
   *
   * @param maxConnections that each may have, which {@code maxConnectionsKey} sets
   * @param ready whether the worker is
   */
  public record Services(
      Inference inference,
      Access access,
      ClientText texts,
      PeerMemory memory,
      int maxConnections,
      String maxConnectionsKey,
      BooleanSupplier ready) {}

  /**
   * Where transports are looked for, and which are wanted.
   *
   * @param folder of jars; null for none
   * @param folderKey of its setting
   * @param prefix of the transports' settings, before their names
   * @param taken names that they cannot have
   */
  public record Wanted(
      @Nullable Path folder,
      String folderKey,
      String prefix,
      Map<String, TransportProperties> settings,
      Set<String> taken) {}

  private AddedTransports(List<AddedTransport> all) {
    this.all = List.copyOf(all);
  }

  public List<AddedTransport> all() {
    return all;
  }

  /**
   * Finds and opens them.
   *
   * @throws StartRefusedException naming what is wrong, and what to do
   */
  public static AddedTransports open(Wanted wanted, Services services) {
    Map<String, Found> found = byName(wanted);
    for (String name : wanted.settings().keySet()) {
      if (!found.containsKey(name)) {
        throw new StartRefusedException(
            "%s.%s is set, and there is no transport '%s'; there are %s."
                .formatted(wanted.prefix(), name, name, found.keySet()),
            "Put its jar into the folder that %s names, correct the name, or remove the setting."
                .formatted(wanted.folderKey()));
      }
    }
    ModelCatalogue models = new EngineModels(services.inference().engine(), services.ready());
    List<AddedTransport> opened = new ArrayList<>();
    found.forEach(
        (name, each) -> {
          TransportProperties own = wanted.settings().get(name);
          if (own != null && own.enabled()) {
            opened.add(open(each, own, wanted.prefix(), services, models));
          }
        });
    return new AddedTransports(opened);
  }

  private static Map<String, Found> byName(Wanted wanted) {
    List<Found> all = new ArrayList<>(TransportJars.onClassPath());
    Path folder = wanted.folder();
    if (folder != null) {
      all.addAll(TransportJars.in(folder, wanted.folderKey()));
    }
    Map<String, Found> found = new TreeMap<>();
    for (Found each : all) {
      if (!NAME.matcher(each.name()).matches()) {
        throw new StartRefusedException(
            "A transport of %s calls itself '%s', which is no name."
                .formatted(each.from(), each.name()),
            "Have its TransportProvider.name() return lower-case letters, digits and '-'.");
      }
      Found other = found.putIfAbsent(each.name(), each);
      if (other != null || wanted.taken().contains(each.name())) {
        throw new StartRefusedException(
            "The transport '%s' of %s has the name of one %s."
                .formatted(
                    each.name(),
                    each.from(),
                    other == null ? "of the worker's own" : "of " + other.from()),
            "Take one of them away, or give it another name.");
      }
    }
    return found;
  }

  private static AddedTransport open(
      Found found,
      TransportProperties own,
      String prefix,
      Services services,
      ModelCatalogue models) {
    String key = prefix + "." + found.name();
    TransportSettings settings = new TransportSettings(key + ".settings", own.settings());
    ClassLoader loader = found.provider().getClass().getClassLoader();
    WorkerContext context = new WorkerContext(found.name(), services, models, settings, loader);
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(loader);
    Transport made;
    try {
      made = found.provider().open(context);
    } catch (RuntimeException | Error e) {
      boolean isSetting = e instanceof IllegalArgumentException;
      throw new StartRefusedException(
          "The transport '%s' of %s cannot be opened: %s."
              .formatted(found.name(), found.from(), isSetting ? e.getMessage() : e),
          "Correct what %s says of it, or write %s.enabled=false.".formatted(key, key),
          e);
    } finally {
      thread.setContextClassLoader(before);
    }
    if (made == null) {
      throw new StartRefusedException(
          "The transport '%s' of %s cannot be opened: its provider returns null."
              .formatted(found.name(), found.from()),
          "Write %s.enabled=false until it is corrected.".formatted(key));
    }
    context.counts().opened();
    if (!settings.unknown().isEmpty()) {
      throw new StartRefusedException(
          "%s is set, and the transport '%s' has no such setting."
              .formatted(settings.key(settings.unknown().iterator().next()), found.name()),
          "Correct the name or remove it; it has %s.".formatted(settings.asked()));
    }
    return new AddedTransport(found.name(), made, context, loader);
  }
}
