package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.error.BundleException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * Compiles a bundle's {@code Model.java}, against the JDK and {@link ApiClasses} alone, in memory
 * and without annotation processors. Thread-safe.
 */
final class SourceCompiler {
  private static final String FILE = "Model.java";
  private static final int MOST_CHARACTERS = 4_000;
  private static final List<String> OPTIONS =
      List.of("-proc:none", "-g", "-implicit:none", "-nowarn", "-Xlint:none");

  private SourceCompiler() {}

  /**
   * @param source UTF-8
   * @param where file at fault if it does not compile
   * @return class files by path
   * @throws BundleException with what the compiler says
   */
  static Map<String, byte[]> compile(byte[] source, String where) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    if (compiler == null) {
      throw new BundleException(
          where,
          "cannot be compiled: this Java has no compiler (module jdk.compiler); ship a model.jar");
    }
    StringWriter out = new StringWriter();
    try (StandardJavaFileManager standard =
            compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);
        Manager files = new Manager(standard)) {
      Source unit = new Source(text(source, where));
      boolean done = compiler.getTask(out, files, null, OPTIONS, null, List.of(unit)).call();
      if (!done) {
        throw new BundleException(where, "does not compile:\n" + shortened(out.toString()));
      }
      return files.written();
    } catch (IOException e) {
      throw new BundleException(where, "cannot be compiled: " + e.getMessage(), e);
    } catch (StackOverflowError | IllegalStateException e) {
      throw new BundleException(where, "is too much for the compiler: " + e, e);
    }
  }

  private static String text(byte[] source, String where) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(source)).toString();
    } catch (CharacterCodingException e) {
      throw new BundleException(where, "is no UTF-8", e);
    }
  }

  private static String shortened(String text) {
    String said = text.strip();
    return said.length() <= MOST_CHARACTERS ? said : said.substring(0, MOST_CHARACTERS) + "\n...";
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String text) {
      super(URI.create("bundle:/" + FILE), Kind.SOURCE);
      this.text = text;
    }

    @Override
    public String getName() {
      return FILE;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }

  /** A class file in memory, given or written. */
  private static final class ClassObject extends SimpleJavaFileObject {
    private final String name;
    private byte[] bytes;

    ClassObject(String name, byte[] bytes) {
      super(URI.create("bundle:/" + name.replace('.', '/') + ".class"), Kind.CLASS);
      this.name = name;
      this.bytes = bytes;
    }

    @Override
    public InputStream openInputStream() {
      return new ByteArrayInputStream(bytes);
    }

    @Override
    public OutputStream openOutputStream() {
      return new ByteArrayOutputStream() {
        @Override
        public void close() {
          bytes = toByteArray();
        }
      };
    }
  }

  /** Shows the compiler the JDK and the API, and keeps what it writes. */
  private static final class Manager extends ForwardingJavaFileManager<JavaFileManager> {
    private final List<ClassObject> written = new ArrayList<>();

    Manager(JavaFileManager standard) {
      super(standard);
    }

    Map<String, byte[]> written() {
      Map<String, byte[]> files = new HashMap<>();
      written.forEach(each -> files.put(each.name.replace('.', '/') + ".class", each.bytes));
      return files;
    }

    @Override
    public boolean hasLocation(Location location) {
      return location == StandardLocation.CLASS_PATH
          || (location != StandardLocation.SOURCE_PATH
              && location != StandardLocation.ANNOTATION_PROCESSOR_PATH
              && super.hasLocation(location));
    }

    @Override
    public Iterable<JavaFileObject> list(
        Location location, String packageName, Set<JavaFileObject.Kind> kinds, boolean recurse)
        throws IOException {
      if (location != StandardLocation.CLASS_PATH) {
        return location == StandardLocation.SOURCE_PATH
            ? List.of()
            : super.list(location, packageName, kinds, recurse);
      }
      List<JavaFileObject> found = new ArrayList<>();
      if (kinds.contains(JavaFileObject.Kind.CLASS)) {
        ApiClasses.byName()
            .forEach(
                (name, bytes) -> {
                  if (isIn(packageName, name, recurse)) {
                    found.add(new ClassObject(name, bytes));
                  }
                });
      }
      return found;
    }

    private static boolean isIn(String packageName, String name, boolean recurse) {
      int dot = name.lastIndexOf('.');
      return recurse
          ? name.startsWith(packageName + ".")
          : name.substring(0, Math.max(0, dot)).equals(packageName);
    }

    @Override
    public String inferBinaryName(Location location, JavaFileObject file) {
      return file instanceof ClassObject own ? own.name : super.inferBinaryName(location, file);
    }

    @Override
    public boolean isSameFile(FileObject one, FileObject other) {
      return one == other || one.toUri().equals(other.toUri());
    }

    @Override
    public boolean contains(Location location, FileObject file) throws IOException {
      return file instanceof ClassObject || file instanceof Source
          ? location == StandardLocation.CLASS_PATH
          : super.contains(location, file);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(
        Location location,
        String className,
        JavaFileObject.Kind kind,
        @Nullable FileObject sibling) {
      ClassObject file = new ClassObject(className, new byte[0]);
      written.add(file);
      return file;
    }
  }
}
