package dev.roundhouse.transport.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Who may have how much of one account, and who has to make room. */
class PeerMemoryTest {
  private static final long MIB = 1 << 20;

  /** Of which standing state has 16 MiB beside it. */
  private final CountedRoot root = new CountedRoot(64 * MIB, "raise the limit");

  private final AtomicLong now = new AtomicLong();
  private final PeerMemory account = new PeerMemory(root, now::get);

  private ConnectionMemory connection(String address) {
    return connection(address, () -> {});
  }

  private ConnectionMemory connection(String address, Runnable relief) {
    return Objects.requireNonNull(
        account.open(new InetSocketAddress(address, 4711), 1 << 10, relief));
  }

  @Test
  void shouldCountEachKindAndGiveAllBack() {
    ConnectionMemory connection = connection("10.0.0.1");
    assertThat(connection.take(Kept.CALL, 3000)).isNull();
    assertThat(connection.take(Kept.MESSAGE, 5 * MIB)).isNull();
    connection.add(Kept.REFUSAL, 100);

    assertThat(account.held(Kept.CONNECTION)).isEqualTo(1 << 10);
    assertThat(account.held(Kept.CALL)).isEqualTo(3000);
    assertThat(account.held(Kept.MESSAGE)).isEqualTo(5 * MIB);
    assertThat(connection.held()).isEqualTo((1 << 10) + 3000 + 5 * MIB + 100);
    assertThat(root.held()).isBetween(5 * MIB + 100, 5 * MIB + (64 << 10));

    connection.giveBack(Kept.CALL, 3000);
    connection.giveBack(Kept.MESSAGE, 5 * MIB);
    connection.giveBack(Kept.REFUSAL, 100);
    connection.close();
    assertThat(account.held()).isZero();
    for (Kept kind : Kept.values()) {
      assertThat(account.held(kind)).as(kind.label()).isZero();
    }
  }

  @Test
  void shouldLeaveAQuarterToOtherAddressesWhenOneTakesAllItCan() {
    List<ConnectionMemory> greedy = new ArrayList<>();
    String refusal = null;
    for (int i = 0; i < 10 && refusal == null; i++) {
      ConnectionMemory connection = connection("10.0.0.1");
      greedy.add(connection);
      for (int part = 0; part < 10 && refusal == null; part++) {
        refusal = connection.take(Kept.MESSAGE, MIB);
      }
    }
    assertThat(refusal)
        .contains("10.0.0.1 hold 50331648 bytes", "needs 1048576 more", "may hold 50331648");

    ConnectionMemory other = connection("10.0.0.2");
    for (int part = 0; part < 16; part++) {
      assertThat(other.take(Kept.MESSAGE, MIB)).as("part %d", part).isNull();
    }
    assertThat(other.take(Kept.MESSAGE, MIB)).contains("the limit is 67108864", "raise the limit");
  }

  @Test
  void shouldHearWhoAsksForLittleWhenRequestsFillAllThereIs() {
    connection("10.0.0.1").take(Kept.MESSAGE, 48 * MIB);
    connection("10.0.0.2").take(Kept.MESSAGE, 16 * MIB);
    ConnectionMemory other = connection("10.0.0.3");
    assertThat(other.take(Kept.MESSAGE, MIB)).isNotNull();
    assertThat(other.take(Kept.CALL, 3000)).isNull();
  }

  @Test
  void shouldBoundTheCallsOfOneConnectionAndOfOneAddress() {
    ConnectionMemory first = connection("10.0.0.1");
    assertThat(first.take(Kept.CALL, 7 * MIB)).isNull();
    assertThat(first.take(Kept.CALL, MIB)).contains("one connection may hold 8388608");
    ConnectionMemory second = connection("10.0.0.1");
    assertThat(second.take(Kept.CALL, 4 * MIB)).isNull();
    assertThat(second.take(Kept.CALL, MIB)).contains("one address may hold 12582912");
    assertThat(connection("10.0.0.2").take(Kept.CALL, MIB)).isNull();
    assertThat(account.refusedEver(Kept.CALL)).isEqualTo(2);
  }

  @Test
  void shouldTakeANetworkOfIpv6AsOnePeer() {
    assertThat(connection("2001:db8::1").take(Kept.MESSAGE, 40 * MIB)).isNull();
    assertThat(connection("2001:db8::2").take(Kept.MESSAGE, 10 * MIB)).contains("one address");
    assertThat(connection("2001:db8:0:1::1").take(Kept.MESSAGE, 10 * MIB)).isNull();
  }

  @Test
  void shouldAcceptNoConnectionForWhichThereIsNoRoom() {
    connection("10.0.0.1").take(Kept.CALL, 7 * MIB);
    connection("10.0.0.1").take(Kept.CALL, 4 * MIB);
    assertThat(account.open(new InetSocketAddress("10.0.0.1", 1), MIB, () -> {})).isNull();
    assertThat(account.open(new InetSocketAddress("10.0.0.2", 1), MIB, () -> {})).isNotNull();
  }

  @Test
  void shouldKeepCountingWhatIsHeldWhenTheConnectionIsGone() {
    ConnectionMemory gone = connection("10.0.0.1");
    gone.take(Kept.MESSAGE, 48 * MIB);
    gone.close();
    assertThat(root.held()).isEqualTo(48 * MIB);
    assertThat(connection("10.0.0.1").take(Kept.MESSAGE, MIB)).contains("one address");
    gone.giveBack(Kept.MESSAGE, 48 * MIB);
    assertThat(root.held()).isZero();
    assertThat(connection("10.0.0.1").take(Kept.MESSAGE, MIB)).isNull();
  }

  @Test
  void shouldAskTheGreediestForRoomWhenAnotherIsRefused() {
    AtomicInteger greedyAsked = new AtomicInteger();
    AtomicInteger modestAsked = new AtomicInteger();
    ConnectionMemory greedy = connection("10.0.0.1", greedyAsked::incrementAndGet);
    ConnectionMemory modest = connection("10.0.0.1", modestAsked::incrementAndGet);
    greedy.take(Kept.MESSAGE, 44 * MIB);
    modest.take(Kept.MESSAGE, 4 * MIB);

    assertThat(greedy.take(Kept.MESSAGE, MIB)).as("its own doing").isNotNull();
    assertThat(greedy.isPressed()).isFalse();
    now.addAndGet(TimeUnit.SECONDS.toNanos(1));
    assertThat(modest.take(Kept.MESSAGE, MIB)).isNotNull();

    assertThat(greedyAsked).hasValue(1);
    assertThat(modestAsked).hasValue(0);
    assertThat(greedy.isPressed()).isTrue();
    now.addAndGet(TimeUnit.SECONDS.toNanos(11));
    assertThat(greedy.isPressed()).isFalse();
  }

  @Test
  void shouldNeverHoldMoreThanAllowedNorLoseAByteWhenManyTakeAndGiveBack() throws Exception {
    long seed = System.nanoTime();
    System.out.println("seed " + seed);
    List<Thread> threads = new ArrayList<>();
    AtomicInteger beyond = new AtomicInteger();
    for (int i = 0; i < 4; i++) {
      SplittableRandom random = new SplittableRandom(seed + i);
      String address = "10.0.0." + i % 2;
      threads.add(Thread.ofPlatform().start(() -> churn(random, connection(address), beyond)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(beyond).hasValue(0);
    assertThat(account.held()).as("seed %d", seed).isZero();
  }

  @Test
  void shouldNeverCountLessThanIsHeldWhenThreadsShareAConnection() throws Exception {
    ConnectionMemory shared = connection("10.0.0.1");
    for (int round = 0; round < 2_000; round++) {
      shared.take(Kept.MESSAGE, 64 << 10);
      Thread giving = Thread.ofPlatform().start(() -> shared.giveBack(Kept.MESSAGE, 64 << 10));
      assertThat(shared.take(Kept.MESSAGE, 40 << 10)).isNull();
      giving.join();
      assertThat(root.held()).as("round %d", round).isGreaterThanOrEqualTo(40 << 10);
      shared.giveBack(Kept.MESSAGE, 40 << 10);
      assertThat(root.held()).as("round %d", round).isZero();
    }
  }

  private void churn(SplittableRandom random, ConnectionMemory connection, AtomicInteger beyond) {
    List<Long> taken = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      long bytes = random.nextLong(1, 2 * MIB);
      if (random.nextBoolean() && connection.take(Kept.MESSAGE, bytes) == null) {
        taken.add(bytes);
      } else if (!taken.isEmpty()) {
        connection.giveBack(Kept.MESSAGE, taken.removeLast());
      }
      beyond.addAndGet(root.held() > root.limit() + 8 * MIB ? 1 : 0); // takers that are refused
    }
    connection.close();
    taken.forEach(bytes -> connection.giveBack(Kept.MESSAGE, bytes));
  }
}
