package dev.roundhouse.platform.rest;

/** What stands behind the question mark of a target. */
final class Query {
  private Query() {}

  /**
   * The first value of a name, as it was written; empty when there is none.
   *
   * @param target of a request
   */
  static String value(String target, String name) {
    int begin = target.indexOf('?');
    if (begin < 0) {
      return "";
    }
    for (String pair : target.substring(begin + 1).split("&")) {
      if (pair.startsWith(name + "=")) {
        return pair.substring(name.length() + 1);
      }
    }
    return "";
  }
}
