package dev.roundhouse.bundle.request;

/**
 * Which sequence a request belongs to, and where in it the request stands.
 *
 * @param start true for the first of a sequence; an earlier one of that name is forgotten
 * @param end true for the last
 */
public record SequenceStep(Id id, boolean start, boolean end) {

  /**
   * The name of a sequence among those of one model: a number or a text.
   *
   * @param number to be read as unsigned; 0 when there is a text
   * @param text empty when there is a number
   */
  public record Id(long number, String text) {
    public static Id of(long number) {
      return new Id(number, "");
    }

    public static Id of(String text) {
      return new Id(0, text);
    }

    @Override
    public String toString() {
      return text.isEmpty() ? Long.toUnsignedString(number) : text;
    }
  }
}
