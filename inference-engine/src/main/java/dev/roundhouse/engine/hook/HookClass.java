package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.Glue;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.hooks.MetaModel;
import dev.roundhouse.hooks.ModelHooks;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/**
 * The one class of a bundle that implements hooks, or a meta; nothing of it has run.
 *
 * @param where the bundle's file that it is in
 */
record HookClass<T>(String where, Class<? extends T> type) {

  /**
   * Reads or compiles a bundle's code.
   *
   * @param wanted what a bundle of its kind implements
   * @throws BundleException when its mode does not allow it, or there is not one such class
   */
  static <T> HookClass<T> read(
      Bundle bundle, String loaderName, HookOptions options, Class<T> wanted) {
    boolean source = bundle.glue() == Glue.JAVA_SOURCE;
    String file = source ? "Model.java" : "model.jar";
    String where = bundle.directory().resolve(file).toString();
    refuse(where, source, options);
    byte[] code = bundle.readFile(file);
    Map<String, byte[]> files;
    if (source) {
      files = SourceCompiler.compile(code, where);
    } else {
      JarContents jar = JarContents.read(code, where);
      if (options.mode() == HookOptions.Mode.JARS_SIGNED_BY) {
        jar.requireSignedBy(options.signers(), options.settings());
      }
      files = jar.files();
    }
    BundleClassLoader loader = new BundleClassLoader(loaderName, ClassFiles.ready(where, files));
    List<Class<? extends T>> found = find(where, loader, source, files, wanted);
    if (found.size() == 1) {
      return new HookClass<>(where, found.getFirst());
    }
    if (found.size() > 1) {
      throw new BundleException(
          where,
          "has %d classes that implement %s, %s; keep one"
              .formatted(
                  found.size(),
                  wanted.getSimpleName(),
                  found.stream().map(Class::getName).toList()));
    }
    Class<?> other = wanted == MetaModel.class ? ModelHooks.class : MetaModel.class;
    List<? extends Class<?>> others = find(where, loader, source, files, other);
    throw new BundleException(
        where,
        others.isEmpty()
            ? "has no class that implements %s".formatted(wanted.getName())
                + (source
                    ? ""
                    : ", or does not name it in META-INF/services/%s".formatted(wanted.getName()))
            : "has %s, which implements %s, and the manifest says kind: %s, which takes %s"
                .formatted(
                    others.getFirst().getName(),
                    other.getSimpleName(),
                    bundle.spec().kind() == ModelSpec.Kind.META ? "meta" : "model",
                    wanted.getSimpleName()));
  }

  private static void refuse(String where, boolean source, HookOptions options) {
    switch (options.mode()) {
      case ALLOW -> {}
      case DENY ->
          throw new BundleException(
              where,
              "holds hooks, and %1$s.mode is deny; set that to allow, or to jars-signed-by with %1$s.signers"
                  .formatted(options.settings()));
      case JARS_SIGNED_BY -> {
        if (source) {
          throw new BundleException(
              where,
              "is source, and %s.mode is jars-signed-by; ship it as a signed model.jar, or set that to allow"
                  .formatted(options.settings()));
        }
      }
    }
  }

  private static <T> List<Class<? extends T>> find(
      String where,
      BundleClassLoader loader,
      boolean source,
      Map<String, byte[]> files,
      Class<T> type) {
    try {
      return source ? implementing(loader, files, type) : provided(loader, type);
    } catch (ServiceConfigurationError | LinkageError | ClassNotFoundException e) {
      throw new BundleException(where, "cannot be used: " + e.getMessage(), e);
    }
  }

  private static <T> List<Class<? extends T>> implementing(
      BundleClassLoader loader, Map<String, byte[]> files, Class<T> type)
      throws ClassNotFoundException {
    List<Class<? extends T>> found = new ArrayList<>();
    for (String path : files.keySet().stream().sorted().toList()) {
      Class<?> each = Class.forName(ClassFiles.name(path), false, loader);
      if (type.isAssignableFrom(each) && !Modifier.isAbstract(each.getModifiers())) {
        found.add(each.asSubclass(type));
      }
    }
    return found;
  }

  private static <T> List<Class<? extends T>> provided(BundleClassLoader loader, Class<T> type) {
    List<Class<? extends T>> found = new ArrayList<>();
    ServiceLoader.load(type, loader).stream().forEach(each -> found.add(each.type()));
    return found;
  }

  /** Makes the object; runs the bundle's code. */
  T make() throws Exception {
    Thread.currentThread().setContextClassLoader(type.getClassLoader());
    Constructor<? extends T> constructor;
    try {
      constructor = type.getDeclaredConstructor();
    } catch (NoSuchMethodException e) {
      throw new BundleException(
          where, "class %s has no constructor without arguments".formatted(type.getName()), e);
    }
    constructor.setAccessible(true);
    try {
      return constructor.newInstance();
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }
}
