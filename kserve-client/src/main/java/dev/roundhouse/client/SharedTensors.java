package dev.roundhouse.client;

import dev.roundhouse.client.SharedMemory.Mode;
import dev.roundhouse.client.pool.Span;
import dev.roundhouse.client.shm.RegionPool;
import dev.roundhouse.client.shm.SharedRegion;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory that a client shares with its server: whether there is any, which is asked once, and
 * the region. Thread-safe; {@link #borrow} and {@link #register} block.
 */
final class SharedTensors {
  private static final Logger log = LoggerFactory.getLogger(SharedTensors.class);

  /** Of each call that sets things up. */
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** How long an unreachable server is not asked again. */
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long GOODBYE_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final SharedMemory settings;
  private final ClientLink link;
  private final ControlCalls control;
  private final Target server;
  private final KnownAnswers answers;
  private final ReentrantLock lock = new ReentrantLock();

  private volatile @Nullable RegionPool pool;

  /** Why there is none and will be none; null while there is or may be. */
  private volatile @Nullable String refusal;

  // Under the lock.
  private long registration;
  private long pausedUntilNanos;
  private boolean paused;

  SharedTensors(SharedMemory settings, ClientLink link, ControlCalls control) {
    this.settings = settings;
    this.link = link;
    this.control = control;
    answers = new KnownAnswers(control, settings.leastBytes(), PATIENCE_NANOS);
    server = link.targets.all().getFirst();
    if (link.targets.all().size() > 1) {
      refuse(
          "%d servers are named, and a region is registered with one"
              .formatted(link.targets.all().size()));
    }
  }

  /** Whether requests go in messages when memory cannot be shared. */
  boolean mayFallBack() {
    return settings.mode() == Mode.AUTO;
  }

  /** Whether a request is large enough, as far as it is known, and memory may be shared. */
  boolean considers(InferRequest request) {
    return isPossible()
        && (request.inputBytes() >= settings.leastBytes() || answers.areLarge(request.model()));
  }

  /** Whether memory may be shared at all, as far as it is known. */
  boolean isPossible() {
    return refusal == null || !mayFallBack();
  }

  /** An answer came in a message. */
  void onAnswer(String model, long outputBytes) {
    if (refusal == null) {
      answers.onAnswer(model, outputBytes);
    }
  }

  /** What is known of the answers of models. */
  KnownAnswers answers() {
    return answers;
  }

  /**
   * Lends memory for a request.
   *
   * @param leftNanos of its deadline; {@link Long#MAX_VALUE} when there is none
   * @param shareOutputs whether outputs are to be shared too
   * @param shareInputs whether inputs are to be shared however small they are, if outputs are
   * @return null when the request is to be sent in a message
   * @throws KServeException when that is not allowed
   */
  @Nullable Borrowed borrow(
      InferRequest request, long leftNanos, boolean shareOutputs, boolean shareInputs) {
    try {
      RegionPool region = region(leftNanos);
      if (region == null) {
        return null;
      }
      boolean large = request.inputBytes() >= settings.leastBytes();
      Map<String, Long> places =
          shareOutputs ? answers.places(request, leftNanos) : Map.<String, Long>of();
      if (!large && places.isEmpty()) {
        return null;
      }
      boolean inputsToo = large || shareInputs;
      long bytes = inputsToo ? request.inputBytes() : 0;
      for (long place : places.values()) {
        bytes = Math.addExact(bytes, place);
      }
      // Each piece may begin a little later, to be aligned.
      bytes += Loan.ALIGNMENT * (request.inputs().size() + places.size());
      if (!region.holds(bytes)) {
        return tooLarge(request, bytes);
      }
      Duration patience = mayFallBack() ? Duration.ZERO : Duration.ofNanos(leftNanos);
      long current = registration();
      Span span = region.lend(bytes, patience);
      if (span == null) {
        if (mayFallBack()) {
          return null;
        }
        throw new KServeException(
            Status.Code.DEADLINE_EXCEEDED,
            "no slots for %d bytes of shared memory became free in time".formatted(bytes),
            null,
            null);
      }
      return new Borrowed(new Loan(this, region, current, span, inputsToo), places);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new KServeException(
          Status.Code.CANCELLED, "the thread that waited was interrupted", e, null);
    }
  }

  /**
   * @param places bytes of each output that is to be shared
   */
  record Borrowed(Loan loan, Map<String, Long> places) {}

  private @Nullable Borrowed tooLarge(InferRequest request, long bytes) {
    if (mayFallBack()) {
      return null;
    }
    throw new KServeException(
        Status.Code.RESOURCE_EXHAUSTED,
        "a request to '%s' wants %d bytes of shared memory and the region has %d; give the client a larger one, or send fewer rows"
            .formatted(request.model(), bytes, settings.bytes()),
        null,
        null);
  }

  private long registration() {
    lock.lock();
    try {
      return registration;
    } finally {
      lock.unlock();
    }
  }

  /** The region; null when there is none and requests go in messages. */
  private @Nullable RegionPool region(long leftNanos) throws InterruptedException {
    RegionPool known = pool;
    if (known != null) {
      return known;
    }
    if (refusal != null) {
      return refused(refusal);
    }
    if (!lock.tryLock(Math.min(leftNanos, PATIENCE_NANOS), TimeUnit.NANOSECONDS)) {
      return mayFallBack() ? null : unreachable("it is being set up", null);
    }
    try {
      known = pool;
      if (known != null) {
        return known;
      }
      if (refusal != null) {
        return refused(refusal);
      }
      if (paused && System.nanoTime() - pausedUntilNanos < 0) {
        return mayFallBack() ? null : unreachable("the server could not be reached", null);
      }
      return establish(Math.min(leftNanos, PATIENCE_NANOS));
    } finally {
      lock.unlock();
    }
  }

  private @Nullable RegionPool refused(String why) {
    if (mayFallBack()) {
      return null;
    }
    throw new KServeException(
        Status.Code.FAILED_PRECONDITION,
        "shared memory is on and cannot be used: " + why,
        null,
        null);
  }

  private static RegionPool unreachable(String why, @Nullable Throwable cause) {
    throw new KServeException(
        Status.Code.UNAVAILABLE, "shared memory cannot be set up: " + why, cause, null);
  }

  /** Under the lock. */
  private @Nullable RegionPool establish(long patienceNanos) {
    SharedRegion region = null;
    try {
      region = SharedRegion.create(settings.name());
      if (!mayBeSeen(region, patienceNanos)) {
        region.close();
        return refuse("the server does not see the /dev/shm of this process");
      }
      region.allocate(settings.bytes());
      registerWith(region, patienceNanos);
      RegionPool made = new RegionPool(region, settings.slots());
      pool = made;
      paused = false;
      log.debug(
          "{} of {} bytes is shared with {}", region.name(), settings.bytes(), server.address);
      return made;
    } catch (IOException | UncheckedIOException e) {
      close(region);
      return refuse(String.valueOf(e.getMessage()));
    } catch (StatusRuntimeException e) {
      close(region);
      if (notAnAnswer(e.getStatus())) {
        paused = true;
        pausedUntilNanos = System.nanoTime() + PAUSE_NANOS;
        return mayFallBack() ? null : unreachable(server.address, e);
      }
      return refuse("the server refused to register it: " + e.getStatus().getDescription());
    }
  }

  private static void close(@Nullable SharedRegion region) {
    if (region != null) {
      region.close();
    }
  }

  /** Whether a status says nothing of what the server would have said. */
  static boolean notAnAnswer(Status status) {
    return switch (status.getCode()) {
      case UNAVAILABLE, DEADLINE_EXCEEDED, CANCELLED -> true;
      default -> false;
    };
  }

  /** What is decided for the life of the client. */
  private @Nullable RegionPool refuse(String why) {
    refusal = why;
    if (mayFallBack()) {
      log.info("tensors go to {} in messages, not through shared memory: {}", server.address, why);
      return null;
    }
    return refused(why);
  }

  /**
   * False when the server says that it does not see the object. One that does not know the question
   * will say when it is to register it: nobody else has an object of that name.
   */
  private boolean mayBeSeen(SharedRegion region, long patienceNanos) {
    try {
      return stub(patienceNanos)
          .isSameIPCNamespace(IsSameIPCNamespaceRequest.newBuilder().setName(region.key()).build())
          .getSame();
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() == Status.Code.UNIMPLEMENTED) {
        return true;
      }
      throw e;
    }
  }

  private void registerWith(SharedRegion region, long patienceNanos) {
    try {
      stub(patienceNanos)
          .systemSharedMemoryRegister(
              SystemSharedMemoryRegisterRequest.newBuilder()
                  .setName(region.name())
                  .setKey(region.key())
                  .setByteSize(region.memory().byteSize())
                  .build());
      link.tally.registrations.increment();
    } catch (StatusRuntimeException e) {
      // Nobody else knows the name: an answer to us was lost.
      if (e.getStatus().getCode() != Status.Code.ALREADY_EXISTS) {
        throw e;
      }
    }
    registration++;
  }

  private GRPCInferenceServiceBlockingStub stub(long patienceNanos) {
    return control.stub(server, patienceNanos);
  }

  /** Whether a server has lost the region of a request, as one does that was restarted. */
  static boolean lost(Status status, ServerReason reason, Loan loan) {
    return reason.isSaid() ? reason.isRegion() : isToldLost(status, loan);
  }

  /** The same of a server that says so in its text only. */
  private static boolean isToldLost(Status status, Loan loan) {
    String told = status.getDescription();
    return told != null
        && told.contains(loan.pool.region().name())
        && (told.contains("Unable to find")
            || told.contains("register it again")
            || told.contains("not registered")
            || told.contains("not found")
            || status.getCode() == Status.Code.FAILED_PRECONDITION);
  }

  /** Whether a server refused a request for the memory that it was to share. */
  static boolean about(Status status, Loan loan) {
    String told = status.getDescription();
    return told != null
        && (told.contains("shared memory") || told.contains(loan.pool.region().name()));
  }

  /**
   * Registers the region again, unless somebody has since the loan was made.
   *
   * @throws StatusRuntimeException when the server refuses
   */
  void register(Loan loan, long leftNanos) {
    lock.lock();
    try {
      if (registration == loan.registration && pool == loan.pool) {
        registerWith(loan.pool.region(), Math.min(leftNanos, PATIENCE_NANOS));
      }
    } finally {
      lock.unlock();
    }
  }

  /** Gives shared memory up: the server has lost the region, and does not take it again. */
  void giveUp(String why) {
    lock.lock();
    try {
      if (refusal == null) {
        RegionPool given = pool;
        pool = null;
        refusal = why;
        log.info(
            "tensors go to {} in messages from now on, not through shared memory: {}",
            server.address,
            why);
        if (given != null) {
          given.retire();
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Replaces a worn-out region by another, which the next request sets up. */
  void replace(RegionPool worn) {
    boolean mine;
    lock.lock();
    try {
      mine = pool == worn;
      if (mine) {
        pool = null;
      }
    } finally {
      lock.unlock();
    }
    if (mine) {
      worn.retire();
      Thread.startVirtualThread(() -> unregister(worn));
    }
  }

  private void unregister(RegionPool gone) {
    try {
      stub(GOODBYE_NANOS)
          .systemSharedMemoryUnregister(
              SystemSharedMemoryUnregisterRequest.newBuilder()
                  .setName(gone.region().name())
                  .build());
    } catch (StatusRuntimeException | KServeException e) {
      log.debug("{} stays registered with {}", gone.region().name(), server.address, e);
    }
  }

  /** Stops lending; tells the server, if it is reachable. */
  void close() {
    RegionPool last;
    lock.lock();
    try {
      last = pool;
      pool = null;
      if (refusal == null) {
        refusal = "the client was closed";
      }
    } finally {
      lock.unlock();
    }
    if (last != null) {
      unregister(last);
      last.retire();
    }
  }
}
