package dev.roundhouse.platform.tstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.CountedRoot;
import dev.roundhouse.transport.memory.Kept;
import dev.roundhouse.transport.memory.PeerMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is held of a hello that is on its way. */
class HelloReaderTest {
  private static final byte[] HELLO = ClientHello.of("m".repeat(20_000), null, 8).encoded();

  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final AtomicReference<@Nullable HelloRefusedException> late = new AtomicReference<>();

  private static ConnectionMemory of(PeerMemory memory) {
    return Objects.requireNonNull(
        memory.open(new InetSocketAddress("127.0.0.1", 1), 1000, () -> {}));
  }

  private HelloReader reader(ConnectionMemory own) {
    HelloReader made = new HelloReader(channel, own, TimeUnit.SECONDS.toNanos(5), late::set);
    made.begin();
    return made;
  }

  @Test
  void shouldCountWhatItHoldsUntilItIsClosed() throws Exception {
    PeerMemory memory = PeerMemory.unlimited();
    HelloReader reader = reader(of(memory));
    ByteBuf begun = Unpooled.wrappedBuffer(HELLO, 0, 15_000);
    assertThat(reader.read(begun)).isNull();
    assertThat(reader.hasBegun()).isTrue();
    assertThat(memory.held(Kept.MESSAGE)).isEqualTo(15_000);
    byte[] more = Arrays.copyOfRange(HELLO, 15_000, HELLO.length + 3);
    ByteBuf rest = Unpooled.wrappedBuffer(more);
    ClientHello said = Objects.requireNonNull(reader.read(rest));
    assertThat(said.model()).hasSize(20_000);
    assertThat(rest.readableBytes()).as("what comes behind it is left").isEqualTo(3);
    assertThat(memory.held(Kept.MESSAGE)).isEqualTo(HELLO.length);
    reader.close();
    reader.close();
    assertThat(memory.held(Kept.MESSAGE)).isZero();
  }

  @Test
  void shouldRefuseAHelloForWhichThereIsNoRoom() {
    PeerMemory memory = new PeerMemory(new CountedRoot(20_000, "raise the limit"));
    HelloReader reader = reader(of(memory));
    HelloRefusedException refusal =
        catchThrowableOfType(
            HelloRefusedException.class, () -> reader.read(Unpooled.wrappedBuffer(HELLO)));
    assertThat(refusal.status()).isEqualTo(HelloStatus.OVERLOADED);
    assertThat(refusal).hasMessageContaining("raise the limit");
    reader.close();
    assertThat(memory.held(Kept.MESSAGE)).isZero();
  }

  @Test
  void shouldSayThatItWasNotInTimeUnlessItIsClosed() {
    HelloReader reader = reader(of(PeerMemory.unlimited()));
    channel.advanceTimeBy(6, TimeUnit.SECONDS);
    channel.runScheduledPendingTasks();
    assertThat(Objects.requireNonNull(late.get()))
        .hasMessage("no whole hello has come within 5000 ms");
    reader.close();

    late.set(null);
    reader(of(PeerMemory.unlimited())).close();
    channel.advanceTimeBy(6, TimeUnit.SECONDS);
    channel.runScheduledPendingTasks();
    assertThat(late.get()).isNull();
  }
}
