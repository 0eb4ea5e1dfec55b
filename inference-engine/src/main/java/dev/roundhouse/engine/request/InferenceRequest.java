package dev.roundhouse.engine.request;

import dev.roundhouse.bundle.request.RequestOptions;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One inference as its caller wants it, and where the answer goes. Immutable, but for the note that
 * it has been submitted: a request can be submitted once.
 */
public final class InferenceRequest {

  /** No deadline. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  private static final VarHandle SUBMITTED;

  static {
    try {
      SUBMITTED =
          MethodHandles.lookup().findVarHandle(InferenceRequest.class, "submitted", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String modelName;
  private final String modelVersion;
  private final String id;
  private final List<InputTensor> inputs;
  private final List<String> requestedOutputs;
  private final long deadlineNanos;
  private final RequestOptions options;
  private final @Nullable MetaRun run;
  private final List<String> handedOn;
  private final int caller;
  private final int tenant;
  private final AnswerForm answerForm;
  private final AnswerSink sink;

  @SuppressWarnings("UnusedVariable") // read and written through SUBMITTED
  private boolean submitted;

  private InferenceRequest(Builder builder) {
    modelName = builder.modelName;
    modelVersion = builder.modelVersion;
    id = builder.id;
    inputs = builder.inputs;
    requestedOutputs = builder.requestedOutputs;
    deadlineNanos = builder.deadlineNanos;
    options = builder.options;
    run = builder.run;
    handedOn = builder.handedOn;
    caller = builder.caller;
    tenant = builder.tenant;
    answerForm = builder.answerForm;
    sink = builder.sink;
  }

  /** A request of a model; without more said: its served version, all outputs, no deadline. */
  public static Builder of(String modelName, List<InputTensor> inputs, AnswerSink sink) {
    return new Builder(modelName, inputs, sink);
  }

  public String modelName() {
    return modelName;
  }

  /** Empty for the one that is served. */
  public String modelVersion() {
    return modelVersion;
  }

  /** Echoed; empty for none. */
  public String id() {
    return id;
  }

  /** As the caller sent them. Borrowed until the outcome has been delivered. */
  public List<InputTensor> inputs() {
    return inputs;
  }

  /** Empty for all. */
  public List<String> requestedOutputs() {
    return requestedOutputs;
  }

  /** On the engine's clock; {@link #NO_DEADLINE} when there is none. */
  public long deadlineNanos() {
    return deadlineNanos;
  }

  /** How it is to be treated; its timeout is in {@link #deadlineNanos}. */
  public RequestOptions options() {
    return options;
  }

  /** The meta's run that makes this call; null for a caller's own request. */
  public @Nullable MetaRun run() {
    return run;
  }

  /** Outputs that may stay on the device for another call; see {@link Answer#handed}. */
  public List<String> handedOn() {
    return handedOn;
  }

  /** Who asks, as far as shares of queues go; 0 when that is not known. */
  public int caller() {
    return caller;
  }

  /** The tenant that the device's time is charged to, by its number; 0 where there is one. */
  public int tenant() {
    return tenant;
  }

  /** What the caller makes of the outputs. */
  public AnswerForm answerForm() {
    return answerForm;
  }

  /** Where the answer goes. */
  public AnswerSink sink() {
    return sink;
  }

  /** Notes that the request is being submitted; false when it has been before. */
  public boolean markSubmitted() {
    return SUBMITTED.compareAndSet(this, false, true);
  }

  /** Collects what is wanted. Not thread-safe; one request per builder. */
  public static final class Builder {
    private final String modelName;
    private final List<InputTensor> inputs;
    private final AnswerSink sink;
    private String modelVersion = "";
    private String id = "";
    private List<String> requestedOutputs = List.of();
    private long deadlineNanos = NO_DEADLINE;
    private RequestOptions options = RequestOptions.DEFAULT;
    private @Nullable MetaRun run;
    private List<String> handedOn = List.of();
    private int caller;
    private int tenant;
    private AnswerForm answerForm = AnswerForm.AS_IS;

    private Builder(String modelName, List<InputTensor> inputs, AnswerSink sink) {
      this.modelName = modelName;
      this.inputs = inputs;
      this.sink = sink;
    }

    public Builder version(String version) {
      modelVersion = version;
      return this;
    }

    public Builder id(String value) {
      id = value;
      return this;
    }

    public Builder outputs(List<String> names) {
      requestedOutputs = names;
      return this;
    }

    /**
     * @param nanos on the engine's clock, or {@link #NO_DEADLINE}
     */
    public Builder deadlineNanos(long nanos) {
      deadlineNanos = nanos;
      return this;
    }

    /**
     * How it is to be treated; the deadline is said by itself. Models that keep no state between
     * requests take no notice of a sequence, nor those without priorities of one.
     */
    public Builder options(RequestOptions value) {
      options = value;
      return this;
    }

    /** Outputs that may stay on the device for another call: see {@link Answer#handed}. */
    public Builder handOn(List<String> outputs) {
      handedOn = outputs;
      return this;
    }

    /** The meta's run that makes this call. */
    public Builder run(@Nullable MetaRun of) {
      run = of;
      return this;
    }

    /** Who asks: the same number for the same caller, 0 when that is not known. */
    public Builder caller(int number) {
      caller = number;
      return this;
    }

    /** The tenant that the device's time is charged to, by its number, from 0. */
    public Builder tenant(int number) {
      tenant = number;
      return this;
    }

    /** What the caller makes of the outputs; without it they are sent as they are. */
    public Builder answerForm(AnswerForm form) {
      answerForm = form;
      return this;
    }

    public InferenceRequest build() {
      return new InferenceRequest(this);
    }
  }
}
