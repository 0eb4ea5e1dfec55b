package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.transport.TransportProvider;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/** Finds providers of transports, on the class path and in the jars of a folder. */
final class TransportJars {
  private static final String SERVICE = "META-INF/services/" + TransportProvider.class.getName();

  /**
   * A provider.
   *
   * @param from where it was found, for people
   */
  record Found(TransportProvider provider, String name, String from) {}

  private TransportJars() {}

  static List<Found> onClassPath() {
    return providers(TransportProvider.class.getClassLoader(), "the class path");
  }

  /**
   * Those of each jar, in the order of the jars' names. Each jar has a class loader of its own,
   * which lives as long as the process.
   *
   * @param key of the folder's setting
   * @throws StartRefusedException naming the jar that is none, or has no provider
   */
  static List<Found> in(Path folder, String key) {
    List<Found> found = new ArrayList<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path jar : files.filter(each -> each.toString().endsWith(".jar")).sorted().toList()) {
        found.addAll(inJar(jar));
      }
    } catch (IOException e) {
      throw new StartRefusedException(
          "%s is '%s', which cannot be read: %s.".formatted(key, folder, e),
          "Name a folder of jars that the worker's user may read, or leave the setting out.",
          e);
    }
    return found;
  }

  private static List<Found> inJar(Path jar) {
    try (JarFile file = new JarFile(jar.toFile())) {
      if (file.getEntry(SERVICE) == null) {
        throw new StartRefusedException(
            "The jar %s holds no transport: it has no %s.".formatted(jar, SERVICE),
            "Put that file into it, with the name of the class that implements TransportProvider, or take the jar out of the folder.");
      }
    } catch (IOException e) {
      throw new StartRefusedException(
          "%s is no jar that can be read: %s.".formatted(jar, e.getMessage()),
          "Copy it again, or take it out of the folder.",
          e);
    }
    List<Found> found = providers(loader(jar), "the jar " + jar);
    if (found.isEmpty()) {
      throw new StartRefusedException(
          "The jar %s holds no transport: its %s is empty.".formatted(jar, SERVICE),
          "Write the name of the class that implements TransportProvider there.");
    }
    return found;
  }

  @SuppressWarnings("resource") // stays open: classes are loaded from it while the worker runs
  private static ClassLoader loader(Path jar) {
    try {
      URL[] files = {jar.toUri().toURL()};
      return new URLClassLoader("transport " + jar.getFileName(), files, new VisibleClasses());
    } catch (MalformedURLException e) {
      throw new IllegalStateException(jar + " has no address", e);
    }
  }

  /** A class that is not there, is not public, or throws, is whatever Error it wants to be. */
  private static List<Found> providers(ClassLoader loader, String from) {
    List<Found> found = new ArrayList<>();
    try {
      Iterator<TransportProvider> all =
          ServiceLoader.load(TransportProvider.class, loader).iterator();
      while (all.hasNext()) {
        TransportProvider provider = all.next();
        found.add(new Found(provider, String.valueOf(provider.name()), from));
      }
    } catch (RuntimeException | Error e) {
      throw new StartRefusedException(
          "A transport of %s cannot be made: %s.".formatted(from, e),
          "Build it against this version's API (docs/transports.md), or take it away.",
          e);
    }
    return found;
  }
}
