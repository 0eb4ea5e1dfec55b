package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.hooks.ModelHooks;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The classes of one version of a bundle. They see each other, the JDK, and what hooks are compiled
 * against; nothing else of the server. Thread-safe.
 */
final class BundleClassLoader extends ClassLoader {
  /** The packages, and those below them, that a bundle's classes see. */
  static final List<String> VISIBLE =
      List.of(ModelHooks.class.getPackageName() + ".", DType.class.getPackageName() + ".");

  private static final ClassLoader API = new Api();

  static {
    registerAsParallelCapable();
  }

  private final Map<String, byte[]> files;

  /**
   * @param files by their paths in the jar; classes as they are to be defined
   */
  BundleClassLoader(String name, Map<String, byte[]> files) {
    super(name, API);
    this.files = files;
  }

  /** What every bundle's classes see. */
  static ClassLoader api() {
    return API;
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    byte[] bytes = files.get(name.replace('.', '/') + ".class");
    if (bytes == null) {
      throw new ClassNotFoundException(name);
    }
    return defineClass(name, bytes, 0, bytes.length);
  }

  @Override
  protected @Nullable URL findResource(String name) {
    byte[] bytes = files.get(name);
    if (bytes == null) {
      return null;
    }
    try {
      return URL.of(URI.create("bundle:/").resolve(path(name)), new Handler(bytes));
    } catch (MalformedURLException | IllegalArgumentException e) {
      return null;
    }
  }

  private static URI path(String name) {
    try {
      return new URI(null, null, "/" + name, null);
    } catch (java.net.URISyntaxException e) {
      throw new IllegalArgumentException(e);
    }
  }

  @Override
  protected Enumeration<URL> findResources(String name) {
    URL found = findResource(name);
    return found == null ? Collections.emptyEnumeration() : Collections.enumeration(List.of(found));
  }

  /** The JDK, and of ours what is {@link #VISIBLE}. */
  private static final class Api extends ClassLoader {
    static {
      registerAsParallelCapable();
    }

    Api() {
      super("hooks", getPlatformClassLoader());
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (VISIBLE.stream().anyMatch(name::startsWith)) {
        return Class.forName(name, false, ModelHooks.class.getClassLoader());
      }
      throw new ClassNotFoundException(name);
    }
  }

  private static final class Handler extends URLStreamHandler {
    private final byte[] bytes;

    Handler(byte[] bytes) {
      this.bytes = bytes;
    }

    @Override
    protected URLConnection openConnection(URL url) {
      return new URLConnection(url) {
        @Override
        public void connect() {}

        @Override
        public long getContentLengthLong() {
          return bytes.length;
        }

        @Override
        public InputStream getInputStream() throws IOException {
          return new ByteArrayInputStream(bytes);
        }
      };
    }
  }
}
