package dev.roundhouse.bundle.artifact;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/**
 * What a {@code sort} decides the order by, run on samples. XLA sorts by C++'s algorithms, which
 * read outside their memory, or never end, when an element comes before itself (LE, GE, EQ, true)
 * or two come before each other (NE). Steps that are not known here have no known result, and what
 * depends on one is not judged.
 */
final class Comparator {
  private static final int MOST_TRIES = 4000;

  /** What an operand of the comparator may be. */
  enum Element {
    FLOAT(0.0, -0.0, 1, -1, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, 3.5),
    SIGNED(0, 1, -1, 7, -8),
    UNSIGNED(0, 1, 7, 8),
    BOOL(0, 1);

    private final double[] samples;

    Element(double... samples) {
      this.samples = samples;
    }

    /** By StableHLO's name; complex numbers and what else is unknown are sampled as floats are. */
    static Element of(String name) {
      if (name.equals("i1")) {
        return BOOL;
      }
      return name.startsWith("ui") ? UNSIGNED : name.startsWith("i") ? SIGNED : FLOAT;
    }
  }

  enum Kind {
    COMPARE,
    AND,
    OR,
    XOR,
    NOT,
    SELECT,
    CONSTANT,
    OTHER
  }

  /**
   * One operation.
   *
   * @param text the direction and the type of a comparison, such as {@code LT TOTALORDER}; of
   *     another operation what tells it from others
   * @param operands values: first the comparator's arguments, then the results of the steps
   * @param constant of a constant
   */
  record Step(Kind kind, String text, List<Integer> operands, double constant) {}

  private final List<Element> arguments;
  private final List<Step> steps;
  private final int result;

  /**
   * @param arguments two of each operand of the sort, one beside the other
   * @param steps in order; each makes one value
   * @param result the value that says whether the first comes before the second
   */
  Comparator(List<Element> arguments, List<Step> steps, int result) {
    this.arguments = List.copyOf(arguments);
    this.steps = List.copyOf(steps);
    this.result = result;
  }

  /** Why it is refused; empty when nothing was found against it. */
  Optional<String> refusal() {
    int pairs = arguments.size() / 2;
    int total = 1;
    for (int pair = 0; pair < pairs && total <= MOST_TRIES; pair++) {
      int count = arguments.get(2 * pair).samples.length;
      total *= count * count;
    }
    boolean all = total <= MOST_TRIES;
    Random random = new Random(25);
    for (int i = 0; i < (all ? total : MOST_TRIES); i++) {
      double[] one = new double[pairs];
      double[] other = new double[pairs];
      int code = i;
      for (int pair = 0; pair < pairs; pair++) {
        double[] samples = arguments.get(2 * pair).samples;
        int choice = all ? code % (samples.length * samples.length) : random.nextInt(1 << 16);
        code /= samples.length * samples.length;
        one[pair] = samples[choice % samples.length];
        other[pair] = samples[choice / samples.length % samples.length];
      }
      if (before(one, one)) {
        return Optional.of(
            "sort by a comparator that says of %s that it comes before itself"
                .formatted(shown(one)));
      }
      if (before(one, other) && before(other, one)) {
        return Optional.of(
            "sort by a comparator that says of %s and %s that each comes before the other"
                .formatted(shown(one), shown(other)));
      }
    }
    return Optional.empty();
  }

  private static String shown(double[] elements) {
    List<String> shown = new ArrayList<>();
    for (double each : elements) {
      shown.add(
          each == Math.rint(each) && Math.abs(each) < 100 ? "%.0f".formatted(each) : "" + each);
    }
    return shown.size() == 1 ? shown.getFirst() : shown.toString();
  }

  /** True only when it is certain that it says so. */
  private boolean before(double[] one, double[] other) {
    Value[] values = new Value[arguments.size() + steps.size()];
    for (int i = 0; i < arguments.size(); i++) {
      values[i] = new Value(i % 2 == 0 ? one[i / 2] : other[i / 2], true);
    }
    for (int i = 0; i < steps.size(); i++) {
      values[arguments.size() + i] = run(steps.get(i), values);
    }
    Value said = values[result];
    return said.known && said.number != 0;
  }

  private static Value run(Step step, Value[] values) {
    Value[] in = new Value[step.operands.size()];
    for (int i = 0; i < in.length; i++) {
      in[i] = values[step.operands.get(i)];
    }
    return switch (step.kind) {
      case CONSTANT -> new Value(step.constant, true);
      case COMPARE -> in.length == 2 ? compare(step.text, in[0], in[1]) : Value.UNKNOWN;
      case AND -> in.length == 2 ? and(in[0], in[1]) : Value.UNKNOWN;
      case OR -> in.length == 2 ? not(and(not(in[0]), not(in[1]))) : Value.UNKNOWN;
      case XOR ->
          in.length == 2 && in[0].known && in[1].known
              ? Value.of((in[0].number != 0) != (in[1].number != 0))
              : Value.UNKNOWN;
      case NOT -> in.length == 1 ? not(in[0]) : Value.UNKNOWN;
      case SELECT ->
          in.length == 3 && in[0].known ? in[0].number != 0 ? in[1] : in[2] : Value.UNKNOWN;
      case OTHER -> Value.UNKNOWN;
    };
  }

  private static Value compare(String how, Value one, Value other) {
    if (!one.known || !other.known) {
      return Value.UNKNOWN;
    }
    double a = one.number;
    double b = other.number;
    boolean total = how.endsWith("TOTALORDER");
    int order = Double.compare(a, b);
    boolean less = total ? order < 0 : a < b;
    boolean equal = total ? order == 0 : a == b;
    boolean greater = total ? order > 0 : a > b;
    return switch (how.substring(0, 2)) {
      case "LT" -> Value.of(less);
      case "GT" -> Value.of(greater);
      case "LE" -> Value.of(less || equal);
      case "GE" -> Value.of(greater || equal);
      case "EQ" -> Value.of(equal);
      case "NE" -> Value.of(!equal);
      default -> Value.UNKNOWN;
    };
  }

  private static Value and(Value one, Value other) {
    if (one.known && one.number == 0 || other.known && other.number == 0) {
      return Value.of(false);
    }
    return one.known && other.known ? Value.of(true) : Value.UNKNOWN;
  }

  private static Value not(Value value) {
    return value.known ? Value.of(value.number == 0) : Value.UNKNOWN;
  }

  private record Value(double number, boolean known) {
    static final Value UNKNOWN = new Value(0, false);

    static Value of(boolean truth) {
      return new Value(truth ? 1 : 0, true);
    }
  }
}
