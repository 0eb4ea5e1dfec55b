package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.engine.EngineOptions;
import dev.roundhouse.engine.testing.LiveEngine;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.engine.thread.PlatformThreads;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A version's classes go with it, whatever they have left in the threads that ran them. */
@Timeout(600)
class HookUnloadTest {
  private static final String LOADER = "hooks.test.loader";
  private static final String SOURCE =
      """
      import dev.roundhouse.hooks.*;
      public class Model implements ModelHooks {
        static final ThreadLocal<Object> KEPT = new ThreadLocal<>();
        final byte[] large = new byte[100_000];
        public Tensors preprocess(HookRequest request) {
          KEPT.set(this);
          System.getProperties().put("%s", new java.lang.ref.WeakReference<>(Model.class.getClassLoader()));
          return Tensors.of(request.input("x"));
        }
      }
      """
          .formatted(LOADER);

  @TempDir Path repository;

  @Test
  void shouldUnloadClassesOfCompiledSource() throws Exception {
    cycle(10, TestBundle.doubling(2, 1).file("Model.java", bytes(SOURCE)));
  }

  @Test
  void shouldUnloadClassesAHundredTimes() throws Exception {
    cycle(100, jar());
  }

  @Test
  @Tag("slow")
  void shouldUnloadClassesAThousandTimes() throws Exception {
    cycle(1000, jar());
  }

  private static TestBundle jar() throws Exception {
    Map<String, byte[]> files = new TreeMap<>(SourceCompiler.compile(bytes(SOURCE), "test"));
    files.put("META-INF/services/dev.roundhouse.hooks.ModelHooks", bytes("Model"));
    return HookLoadTest.jar(files);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private void cycle(int times, TestBundle bundle) {
    List<WeakReference<?>> loaders = new ArrayList<>();
    Path folder = bundle.write(repository, "m");
    try (LiveEngine engine =
        new LiveEngine(EngineOptions.builder().userCode(new PlatformThreads("hook", 8)).build())) {
      once(engine, folder); // what all share is there now
      collect();
      long classes = ManagementFactory.getClassLoadingMXBean().getLoadedClassCount();
      long metaspace = metaspaceBytes();
      for (int i = 0; i < times; i++) {
        loaders.add(once(engine, folder));
      }
      LiveEngine.await(
          "every loader is gone",
          () -> {
            collect();
            return loaders.stream().allMatch(loader -> loader.get() == null);
          });
      long after = ManagementFactory.getClassLoadingMXBean().getLoadedClassCount();
      assertThat(after - classes).as("classes that stay").isLessThan(Math.max(50, times / 2));
      assertThat(metaspaceBytes() - metaspace).as("metaspace").isLessThan(4 << 20);
      engine.assertWell();
    }
  }

  private static WeakReference<?> once(LiveEngine engine, Path folder) {
    engine.load(folder);
    LiveEngine.assertCompleted(engine.submit("m", 1, 2));
    LiveEngine.get(engine.engine().admin().unload("m"));
    return (WeakReference<?>) Objects.requireNonNull(System.getProperties().remove(LOADER));
  }

  private static void collect() {
    System.gc();
  }

  private static long metaspaceBytes() {
    return ManagementFactory.getMemoryPoolMXBeans().stream()
        .filter(pool -> pool.getName().equals("Metaspace"))
        .map(MemoryPoolMXBean::getUsage)
        .mapToLong(MemoryUsage::getUsed)
        .sum();
  }
}
