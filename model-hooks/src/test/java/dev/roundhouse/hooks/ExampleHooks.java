package dev.roundhouse.hooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import javax.tools.ToolProvider;

/** The hooks of {@code examples/NAME/Model.java}, compiled as a server does. */
record ExampleHooks<T>(T hooks, URLClassLoader loader) implements AutoCloseable {
  static ExampleHooks<ModelHooks> compile(String name, Path folder) throws Exception {
    return compile(ModelHooks.class, name, folder);
  }

  /**
   * @param type what the class implements
   */
  static <T> ExampleHooks<T> compile(Class<T> type, String name, Path folder) throws Exception {
    String source = "../examples/" + name + "/Model.java";
    int code =
        ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", folder.toString(), source);
    assertThat(code).isZero();
    URI classes = folder.toUri();
    URLClassLoader loader =
        new URLClassLoader(new URL[] {classes.toURL()}, ModelHooks.class.getClassLoader());
    Constructor<?> constructor = loader.loadClass("Model").getDeclaredConstructor();
    constructor.setAccessible(true);
    return new ExampleHooks<>(type.cast(constructor.newInstance()), loader);
  }

  @Override
  public void close() throws IOException {
    loader.close();
  }
}
