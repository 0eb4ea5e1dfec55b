package dev.roundhouse.worker.payload;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.platform.payload.PayloadCollector;
import dev.roundhouse.platform.payload.PayloadLog;
import dev.roundhouse.platform.payload.PayloadLog.Drop;
import java.lang.foreign.MemorySegment;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.util.unit.DataSize;

/** The tap with 40 KB of a request, and of its answer, of which 64 KB may wait. */
@Timeout(60)
class PayloadTapTest {
  private static final int LARGE = 40 << 10;

  private final List<String> told = new ArrayList<>();
  private PayloadCollector collector;
  private PayloadLog log;
  private PayloadTap tap;

  private final AnswerSink sink =
      new AnswerSink() {
        @Override
        public void onPart(Answer part) {
          told.add("part");
        }

        @Override
        public void onEnd(Outcome outcome) {
          told.add("end");
        }
      };

  /** Data that counts how often it is copied. */
  private static final class Source implements TensorData {
    private final int bytes;
    private final @Nullable Throwable failure;
    private int copied;

    /**
     * @param failure when it is copied; null for none
     */
    Source(int bytes, @Nullable Throwable failure) {
      this.bytes = bytes;
      this.failure = failure;
    }

    @Override
    public long byteSize() {
      return bytes;
    }

    @Override
    public void copyTo(long offset, MemorySegment target, long targetOffset, long length) {
      copied++;
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure instanceof RuntimeException exception) {
        throw exception;
      }
    }
  }

  private record Made(List<OutputTensor> outputs) implements Answer {
    @Override
    public String modelVersion() {
      return "1";
    }

    @Override
    public void free() {}

    @Override
    public void close() {}
  }

  @BeforeEach
  void start() throws Exception {
    collector = new PayloadCollector();
    log = collector.log(DataSize.ofBytes(LARGE), "m");
    tap = new PayloadTap(log);
  }

  @AfterEach
  void shouldHoldNothingAnyMore() {
    collector.go();
    log.close();
    assertThat(log.waitingBytes()).isZero();
    collector.close();
  }

  private AnswerSink ask(Source... sources) {
    List<InputTensor> inputs = new ArrayList<>();
    for (Source each : sources) {
      inputs.add(new InputTensor("x" + inputs.size(), DType.I8, Shape.of(each.byteSize()), each));
    }
    return tap.tapped("m", "7", inputs, sink);
  }

  private static Answer answer(int bytes) {
    return new Made(
        List.of(
            new OutputTensor(
                "y", DType.I8, Shape.of(bytes), MemorySegment.ofArray(new byte[bytes]))));
  }

  @Test
  void shouldCopyNothingForWhichThereIsNoRoom() throws Exception {
    collector.hold();
    Source first = new Source(LARGE, null);
    Source second = new Source(LARGE, null);
    ask(first);
    AnswerSink tapped = ask(second);
    assertThat(first.copied).isEqualTo(1);
    assertThat(second.copied).as("it would be dropped").isZero();
    assertThat(log.dropped(Drop.FULL)).isEqualTo(1);
    tapped.onPart(answer(LARGE));
    assertThat(log.dropped(Drop.FULL)).isEqualTo(2);
    assertThat(told).containsExactly("part");
    assertThat(log.waitingBytes()).isEqualTo(LARGE + 512);
    collector.go();
    assertThat(collector.next().header("ce-id")).isEqualTo("7");
  }

  @Test
  void shouldLeaveOutAndNameWhatGoesBeyondTheLimitOrCannotBeRead() throws Exception {
    Source gone = new Source(8, new IllegalStateException("taken away"));
    Source large = new Source(LARGE, null);
    Source small = new Source(1, null);
    ask(gone, large, small);
    assertThat(large.copied).as("more than the first has left").isZero();
    assertThat(collector.next().body())
        .contains("\"roundhouse_left_out\":\"x0,x1\"")
        .contains("{\"name\":\"x2\",\"datatype\":\"INT8\",\"shape\":[1],\"data\":[0]}");
  }

  @Test
  void shouldCountWhatCannotBeCopiedAndGoOn() throws Exception {
    AnswerSink tapped = ask(new Source(8, new OutOfMemoryError("of a test")));
    assertThat(log.dropped(Drop.FAILED)).isEqualTo(1);
    assertThat(log.waitingBytes()).isZero();
    tapped.onPart(answer(1));
    assertThat(collector.next().body()).contains("\"model_name\":\"m\"");
    tapped.onPart(
        new Made(
            new AbstractList<>() {
              @Override
              public OutputTensor get(int index) {
                throw new OutOfMemoryError("of a test");
              }

              @Override
              public int size() {
                return 1;
              }
            }));
    assertThat(log.dropped(Drop.FAILED)).isEqualTo(2);
    assertThat(told).containsExactly("part", "part");
  }

  @Test
  void shouldLeaveOthersAlone() {
    Source source = new Source(8, null);
    InputTensor input = new InputTensor("x", DType.I8, Shape.of(8), source);
    assertThat(tap.tapped("other", "", List.of(input), sink)).isSameAs(sink);
    assertThat(source.copied).isZero();
  }
}
