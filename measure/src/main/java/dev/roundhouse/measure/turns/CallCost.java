package dev.roundhouse.measure.turns;

/** What one of many calls took. CPU is that of the whole process, the plugin's threads included. */
record CallCost(double wallNanos, double cpuNanos) {

  static CallCost of(long wallNanos, long cpuNanos, int calls) {
    return new CallCost((double) wallNanos / calls, (double) cpuNanos / calls);
  }
}
