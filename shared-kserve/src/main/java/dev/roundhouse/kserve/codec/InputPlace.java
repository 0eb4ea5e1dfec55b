package dev.roundhouse.kserve.codec;

/** Which input of which model a text speaks of. */
record InputPlace(String input, String model) {
  @Override
  public String toString() {
    return "'" + input + "' for model '" + model + "'";
  }
}
