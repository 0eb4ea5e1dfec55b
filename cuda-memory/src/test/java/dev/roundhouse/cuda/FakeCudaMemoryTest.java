package dev.roundhouse.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.cuda.CudaMemory.Mapping;
import dev.roundhouse.cuda.FakeCudaMemory.Call;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** The fake is as strict as it says: other tests rely on it. */
class FakeCudaMemoryTest {
  private final FakeCudaMemory memory = new FakeCudaMemory(0, (call, thread) -> true);

  @Test
  void shouldCopyBothWays() {
    byte[] handle = memory.allocate(16);
    memory.memory(handle).set(ValueLayout.JAVA_INT, 4, 7);
    try (Mapping mapping = memory.open(handle)) {
      MemorySegment host = MemorySegment.ofArray(new int[2]);
      mapping.read(4, host);
      assertThat(host.get(ValueLayout.JAVA_INT, 0)).isEqualTo(7);
      host.set(ValueLayout.JAVA_INT, 4, 9);
      mapping.write(8, host);
      assertThat(memory.openCount()).isEqualTo(1);
    }
    assertThat(memory.memory(handle).get(ValueLayout.JAVA_INT, 12)).isEqualTo(9);
    memory.free(handle);
    memory.close();
    assertThat(memory.mistakes()).isEmpty();
  }

  @Test
  void shouldRefuseAHandleOfNothing() {
    assertThatThrownBy(() -> memory.open(new byte[CudaMemory.HANDLE_BYTES]))
        .isInstanceOf(CudaException.class)
        .hasMessageContaining("cudaErrorInvalidResourceHandle");
    assertThat(memory.mistakes()).as("anybody can send one").isEmpty();
  }

  @Test
  void shouldTakeForMistakesWhatCudaLeavesUndefined() {
    byte[] handle = memory.allocate(16);
    Mapping mapping = memory.open(handle);
    assertMistake(() -> memory.open(handle), "opened twice");
    assertMistake(() -> memory.free(handle), "freed");
    assertMistake(() -> mapping.read(12, MemorySegment.ofArray(new byte[5])), "outside");
    assertMistake(() -> mapping.write(-1, MemorySegment.ofArray(new byte[1])), "outside");
    mapping.close();
    assertMistake(mapping::close, "closed twice");
    assertMistake(() -> mapping.read(0, MemorySegment.ofArray(new byte[1])), "after it was closed");
    memory.open(handle);
    assertMistake(memory::close, "open at the end");
    assertMistake(() -> memory.open(handle), "after it was closed");
    assertThat(memory.mistakes()).hasSize(8);
  }

  @Test
  void shouldKeepThreadsOutThatMayNotWait() {
    FakeCudaMemory strict = new FakeCudaMemory(0, (call, thread) -> call != Call.OPEN);
    assertMistake(() -> strict.open(strict.allocate(1)), "may not wait");
  }

  private static void assertMistake(ThrowingCallable call, String text) {
    assertThatThrownBy(call).isInstanceOf(RuntimeException.class).hasMessageContaining(text);
  }
}
