package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.hooks.HookException;
import dev.roundhouse.hooks.guard.AllocationRefusedError;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a bundle's classes may allocate, with a heap of 16 MiB: 2 MiB a call, 8 MiB all. */
class HookHeapTest {
  private static final int MIB = 1 << 20;

  private final HookHeap heap = new HookHeap(16 * MIB);

  @ParameterizedTest
  @ValueSource(
      strings = {
        "List<Object> all = new ArrayList<>(); while (true) all.add(new byte[1 << 16]);",
        "List<Object> all = new ArrayList<>(); while (true) all.add(new String[1000]);",
        "List<Object> all = new ArrayList<>(); while (true) all.add(new Object());",
        "List<Object> all = new ArrayList<>(); for (int i = 0; ; i++) all.add(i);",
        "List<Object> all = new ArrayList<>(); for (float i = 0; ; i++) all.add(i);",
        "for (Object last = null; ; ) { Object next = new Object[] {last}; last = next; }",
        "List<Object> all = new ArrayList<>(); Runnable more = () -> all.add(new long[50]); while (true) more.run();",
        "Object all = new long[Integer.MAX_VALUE];",
        "Object all = new int[1000][1000];",
        "Object all = new double[70_000][70_000][70_000][];",
        "grow(new int[1]);",
      })
  void shouldStopCodeThatAllocatesWithoutEnd(String code) throws Exception {
    Runnable loaded = loaded(code);
    assertThatThrownBy(() -> run(loaded))
        .isInstanceOf(AllocationRefusedError.class)
        .hasMessageContainingAll(
            "run of model 'm' allocates ", "the limit is 2097152, an eighth of the heap (-Xmx)");
    assertThat(heap.held()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "byte[] fits = new byte[MIB]; fits[0] = 1;",
        "int[][] all = new int[100][200]; all[99][199] = 1; String[][][] deep = new String[3][4][]; deep[2][3] = new String[5];",
        "List<Integer> all = new ArrayList<>(); for (int i = 0; i < 10_000; i++) all.add(i);",
        "Object none = new Object[0]; boolean[] flags = new boolean[7]; flags[6] = true;",
        "try { Object all = new byte[4 * MIB]; throw new IllegalStateException(); } catch (Error e) { new StringBuilder(); }",
        "try { Object none = new int[-1]; throw new IllegalStateException(); } catch (NegativeArraySizeException e) { }",
      })
  void shouldRunWhatFits(String code) throws Exception {
    Runnable loaded = loaded(code);
    assertThatCode(() -> run(loaded)).doesNotThrowAnyException();
    assertThat(heap.held()).isZero();
  }

  @Test
  void shouldRefuseMoreThanAllMayHave() throws Exception {
    Runnable loaded = loaded("Object some = new byte[MIB];");
    HookHeap small = new HookHeap(4 * MIB);
    HookHeap.Call[] others = new HookHeap.Call[4];
    for (int i = 0; i < others.length; i++) {
      others[i] = small.begin("run of model 'other'");
      others[i].take(MIB / 2);
    }
    long free = 4 * MIB / (8 * HookOptions.THREADS);
    assertThat(small.held()).isEqualTo(4 * (MIB / 2 - free));
    Runnable half = loaded("Object some = new byte[MIB / 4];");
    assertThatThrownBy(
            () -> {
              try (HookHeap.Call call = small.begin("run of model 'm'")) {
                half.run();
              }
            })
        .isInstanceOf(HookException.class)
        .hasMessageContaining("retry later or raise the heap (-Xmx)");
    for (HookHeap.Call other : others) {
      other.close();
    }
    assertThat(small.held()).isZero();
    run(loaded);
  }

  @Test
  void shouldTakeNothingOfTheOthersForALittle() {
    HookHeap.Call[] calls = new HookHeap.Call[HookOptions.THREADS];
    for (int i = 0; i < calls.length; i++) {
      calls[i] = heap.begin("run of model 'm'");
      calls[i].take(16 * MIB / (8 * HookOptions.THREADS));
    }
    assertThat(heap.held()).isZero();
    calls[0].take(1);
    assertThat(heap.held()).isEqualTo(MIB);
    for (HookHeap.Call call : calls) {
      call.close();
    }
    assertThat(heap.held()).isZero();
  }

  @Test
  void shouldCountAnewWithEachPartOfAnAnswer() {
    try (HookHeap.Call call = heap.begin("run of model 'm'")) {
      for (int i = 0; i < 10; i++) {
        call.take(3 * MIB / 2);
        call.renew();
        assertThat(heap.held()).isZero();
      }
      call.take(3 * MIB / 2);
      assertThatThrownBy(() -> call.take(MIB))
          .isInstanceOf(AllocationRefusedError.class)
          .hasMessageContaining("allocates 1048576 bytes and has allocated 1572864 in this call");
    }
    assertThat(heap.held()).isZero();
  }

  @Test
  void shouldCountNothingOfOtherThreads() throws Exception {
    Runnable loaded = loaded("for (int i = 0; i < 100; i++) new Object[10_000].hashCode();");
    loaded.run();
    assertThat(heap.held()).isZero();
  }

  private void run(Runnable code) {
    try (HookHeap.Call call = heap.begin("run of model 'm'")) {
      code.run();
    }
  }

  private static Runnable loaded(String code) throws Exception {
    String source =
        """
        import java.util.*;

        class Model implements Runnable {
          static final int MIB = 1 << 20;

          @Override public void run() {
            %s
          }

          void grow(int[] last) {
            grow(new int[2 * last.length]);
          }
        }
        """
            .formatted(code);
    Map<String, byte[]> files =
        SourceCompiler.compile(source.getBytes(StandardCharsets.UTF_8), "Model.java");
    var constructor =
        Class.forName(
                "Model", true, new BundleClassLoader("m", ClassFiles.ready("Model.java", files)))
            .getDeclaredConstructor();
    constructor.setAccessible(true);
    return (Runnable) constructor.newInstance();
  }
}
