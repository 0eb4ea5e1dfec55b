package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.ModelHooks;
import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * The class files that hooks are compiled against, by their names, from wherever the server's own
 * class path has them: folders, jars, or jars in a jar, which the compiler cannot look into.
 */
final class ApiClasses {
  private static final String CLASS = ".class";

  /** Read when the first source is compiled. */
  private static final class Found {
    static final SortedMap<String, byte[]> BY_NAME = find();
  }

  private ApiClasses() {}

  /** By binary name. */
  static SortedMap<String, byte[]> byName() {
    return Found.BY_NAME;
  }

  private static SortedMap<String, byte[]> find() {
    SortedMap<String, byte[]> found = new TreeMap<>();
    for (Class<?> each : List.of(ModelHooks.class, DType.class)) {
      String folder = each.getPackageName().replace('.', '/');
      URL url = each.getResource(each.getSimpleName() + CLASS);
      if (url == null) {
        throw new IllegalStateException("the class file of " + each + " is not to be found");
      }
      try {
        URLConnection connection = url.openConnection();
        if (connection instanceof JarURLConnection jar) {
          fromJar(jar, folder + "/", found);
        } else {
          fromFolder(
              Path.of(URI.create(url.toString())).resolveSibling(".").normalize(), folder, found);
        }
      } catch (IOException e) {
        throw new IllegalStateException("what hooks are compiled against cannot be read", e);
      }
    }
    return Collections.unmodifiableSortedMap(found);
  }

  private static void fromJar(
      JarURLConnection connection, String prefix, SortedMap<String, byte[]> found)
      throws IOException {
    connection.setUseCaches(false);
    try (JarFile jar = connection.getJarFile()) {
      for (JarEntry entry : Collections.list(jar.entries())) {
        if (entry.getName().startsWith(prefix) && entry.getName().endsWith(CLASS)) {
          try (InputStream in = jar.getInputStream(entry)) {
            found.put(ClassFiles.name(entry.getName()), in.readAllBytes());
          }
        }
      }
    }
  }

  private static void fromFolder(Path folder, String prefix, SortedMap<String, byte[]> found)
      throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(each -> each.toString().endsWith(CLASS)).toList()) {
        String path = prefix + "/" + folder.relativize(file).toString().replace('\\', '/');
        found.put(ClassFiles.name(path), Files.readAllBytes(file));
      }
    }
  }
}
